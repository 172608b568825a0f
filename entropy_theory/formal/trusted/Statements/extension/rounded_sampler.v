(* Generated from the formula of the claim extension.rounded-sampler (Extension of AEPO, Theorem 4.3 (rewards and samplers of any kind)). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** Epsilon = max|log mu - log pi|. *)
Definition farthest (n : nat) (logits : vector) (shift : vector) : R :=
  largest n (fun a => Rabs (log_softmax n (moved_by logits shift) a - log_softmax n logits a)).

(** D = E|log pi + H|. *)
Definition surprise_spread (n : nat) (logits : vector) : R :=
  mean n (softmax n logits) (fun a => Rabs (centered n (softmax n logits) logits a)).

(** sum_a mu_a A_a (e_a - pi), for samples of mu = softmax(z + shift). *)
Definition sampled_step (n : nat) (logits : vector) (shift : vector) (advantage : vector) : vector :=
  fun a => softmax n (fun b => logits b + shift b) a * advantage a - softmax n logits a * mean n (softmax n (fun c => logits c + shift c)) advantage.

(** The fall of entropy by this step, to first order. *)
Definition sampled_fall (n : nat) (logits : vector) (shift : vector) (advantage : vector) : R :=
  covariance n (softmax n logits) logits (sampled_step n logits shift advantage).

(** sum_a pi_a w_a (e_a - pi). *)
Definition reweighted_step (n : nat) (logits : vector) (weight : vector) : vector :=
  fun a => softmax n logits a * centered n (softmax n logits) weight a.

(** The fall of entropy by this step, to first order. *)
Definition fall (n : nat) (logits : vector) (weight : vector) : R :=
  covariance n (softmax n logits) logits (reweighted_step n logits weight).

Definition statement : Prop :=
  forall (n : nat) (logits : vector) (shift : vector) (advantage : vector),
  (2 <= n)%nat ->
  (sampled_fall n logits shift advantage - fall n logits advantage <= (exp (farthest n logits shift) - 1) * largest n (fun a => Rabs (advantage a)) * surprise_spread n logits / 2 /\
  0 <= (exp (farthest n logits shift) - 1) * largest n (fun a => Rabs (advantage a)) * surprise_spread n logits / 2 + (sampled_fall n logits shift advantage - fall n logits advantage) /\
  surprise_spread n logits <= 2 * entropy n logits) /\
  derivative (fun t => entropy n (fun a => logits a + t * sampled_step n logits shift advantage a)) (0) (- sampled_fall n logits shift advantage).

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (shift : vector) (advantage : vector),
  (2 <= n)%nat.
