(* Generated from the formula of the claim aepo.ablation-2 (AEPO, Section 6.1 and Eq. (2) (Table 3)). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** grad p = pi (1_{A*} - p): expected GRPO, and REINFORCE at T = 1, per unit weight. *)
Definition plain_step (n : nat) (logits : vector) (correct : mask) : vector :=
  fun a => softmax n logits a * (if correct a then total_on n (fun b => negb (correct b)) (softmax n logits) else - total_on n correct (softmax n logits)).

(** Logits after a step eta (kappa + 1) grad p. *)
Definition after_plain_step (n : nat) (logits : vector) (correct : mask) (grpo_weight : R) (learning_rate : R) : vector :=
  fun a => logits a + learning_rate * (grpo_weight + 1) * plain_step n logits correct a.

Definition printed : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (learning_rate : R) (grpo_weight : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 < learning_rate ->
  0 < grpo_weight ->
  (~ (forall a, (a < n)%nat -> correct a = true)) ->
  0 <= - entropy_change n logits (fun a => after_plain_step n logits correct grpo_weight learning_rate a - logits a).

(** There is an instance at which it fails. *)
Definition refuted : Prop := ~ printed.
