From Coq Require Import Reals List Bool.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From Trusted.Statements.entropy_mechanism Require kl_cov.
Import Statements.entropy_mechanism.kl_cov(old_policy, log_ratio, selected, penalty_score).
Open Scope R_scope.

(** The step of tokens with these weighted scores, sum_a w_a (e_a - pi). *)
Definition score_step (n : nat) (z w : vector) : vector := fun a => w a - sum n w * softmax n z a.

(** The scores are those of the penalty: along every direction v of the logits the sum of the penalties
    over a set of actions, which have all moved, has minus the slope that the step has with v. *)
Definition slope_of_penalty : Prop :=
  forall n logits drift (A : mask) (v : vector),
  (0 < n)%nat ->
  (forall a, (a < n)%nat -> A a = true -> log_ratio n logits drift a <> 0) ->
  is_derive
    (fun t => sum n (only A (fun a => old_policy n logits drift a
       * Rabs (log_softmax n (fun b => logits b + t * v b) a
               - log_softmax n (fun b => logits b - drift b) a)))) 0
    (- sum n (fun a => score_step n logits (only A (penalty_score n logits drift)) a * v a)).
