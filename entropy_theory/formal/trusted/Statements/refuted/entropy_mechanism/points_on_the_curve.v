(* Generated from the formula of the claim entropy-mechanism.points-on-the-curve (Review of Entropy Mechanism, first major comment (Clip-Cov on or off the fitted curve)). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** dH of sparing the right answer that is likeliest among the right. *)
Definition of_likeliest_right (n : nat) (logits : vector) (correct : mask) : R :=
  total_on n (fun a => negb (correct a)) (softmax n logits) * largest_on n correct (softmax n logits) * (largest_on n correct logits - total_on n correct (fun a => softmax n logits a * logits a) / total_on n correct (softmax n logits)).

(** dH of sparing the wrong answer that is least likely among the wrong. *)
Definition of_rarest_wrong (n : nat) (logits : vector) (correct : mask) : R :=
  total_on n correct (softmax n logits) * smallest_on n (fun a => negb (correct a)) (softmax n logits) * (total_on n (fun a => negb (correct a)) (fun a => softmax n logits a * logits a) / total_on n (fun a => negb (correct a)) (softmax n logits) - smallest_on n (fun a => negb (correct a)) logits).

Definition printed : Prop :=
  forall (n : nat) (logits : vector) (correct : mask),
  (2 <= n)%nat ->
  nonempty n correct ->
  (~ (forall a, (a < n)%nat -> correct a = true)) ->
  of_likeliest_right n logits correct = 0 /\
  of_rarest_wrong n logits correct = 0.

Definition of_likeliest_right_defined (n : nat) (logits : vector) (correct : mask) : Prop :=
  total_on n correct (softmax n logits) <> 0.

Definition of_rarest_wrong_defined (n : nat) (logits : vector) (correct : mask) : Prop :=
  total_on n (fun a => negb (correct a)) (softmax n logits) <> 0.

Definition defined : Prop :=
  forall (n : nat) (logits : vector) (correct : mask),
  (2 <= n)%nat ->
  nonempty n correct ->
  (~ (forall a, (a < n)%nat -> correct a = true)) ->
  of_likeliest_right_defined n logits correct /\
  of_rarest_wrong_defined n logits correct.

(** There is an instance at which it fails. *)
Definition refuted : Prop := ~ printed.
