From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** The step of tokens with these weighted scores, sum_a w_a (e_a - pi). *)
Definition score_step (n : nat) (z w : vector) : vector := fun a => w a - sum n w * softmax n z a.

(** The step is the natural gradient: the Fisher matrix diag(pi) - pi pi^T takes it to the logit step of the
    scores. *)
Definition natural_step : Prop :=
  forall n logits w a,
  (0 < n)%nat ->
  softmax n logits a * centered n (softmax n logits) (fun b => w b / softmax n logits b) a
  = score_step n logits w a.
