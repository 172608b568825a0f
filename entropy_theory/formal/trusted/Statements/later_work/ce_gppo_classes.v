(* Generated from the formula of the claim later-work.ce-gppo-classes (CE-GPPO (arXiv 2509.20712), Section 1: PA&HP, NA&LP, PA&LP, NA&HP). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** c_a = Cov_pi(z, delta_a). *)
Definition own_covariance (n : nat) (logits : vector) : vector :=
  fun a => softmax n logits a * centered n (softmax n logits) logits a.

(** c_a - C. *)
Definition excess (n : nat) (logits : vector) : vector :=
  centered n (softmax n logits) (own_covariance n logits).

(** z+ = max(E z, max{z_a : c_a < C}): where c - C changes sign. *)
Definition crossing (n : nat) (logits : vector) : R :=
  largest n (fun a => if less (excess n logits a) 0 then logits a else mean n (softmax n logits) logits).

(** First-order change of entropy by the step e_k - pi, for each sampled action k. *)
Definition effect_of_sample (n : nat) (logits : vector) : vector :=
  fun a => - covariance n (fun b => softmax n logits b) (fun b => logits b) (fun b => (if Nat.eqb a b then 1 else 0) - softmax n logits b).

Definition repair : Prop :=
  forall (n : nat) (logits : vector),
  (2 <= n)%nat ->
  (forall a, (a < n)%nat -> 0 <= (if less (if less 0 (logits a - crossing n logits) then logits a - crossing n logits else logits a - crossing n logits - 1) 0 then effect_of_sample n logits a else - effect_of_sample n logits a)) /\
  0 <= crossing n logits - mean n (softmax n logits) logits /\
  0 <= largest n logits - crossing n logits.

Definition witness : Prop :=
  exists (n : nat) (logits : vector),
  (2 <= n)%nat.
