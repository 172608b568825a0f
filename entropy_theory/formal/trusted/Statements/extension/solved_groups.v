(* Generated from the formula of the claim extension.solved-groups (Extension of AEPO, section 3.1 (a group's advantages)). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** How many actions a set has. *)
Definition count (n : nat) (logits : vector) (chosen : mask) : R :=
  total_on n chosen (fun a => 1).

(** Each wrong logit down by its v, the right one up by their sum. *)
Definition blaming_step (n : nat) (blame : vector) (correct : mask) : vector :=
  fun a => if correct a then total_on n (fun b => negb (correct b)) blame else - blame a.

Definition statement : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (blame : vector),
  (2 <= n)%nat ->
  nonempty n correct ->
  (forall a, (a < n)%nat -> 0 <= blame a) ->
  (~ (forall a, (a < n)%nat -> correct a = true)) ->
  count n logits correct < 2 ->
  largest_on n (fun a => negb (correct a)) logits <= smallest_on n correct logits ->
  0 <= - entropy_change n logits (blaming_step n blame correct).

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (correct : mask) (blame : vector),
  (2 <= n)%nat /\
  nonempty n correct /\
  (forall a, (a < n)%nat -> 0 <= blame a) /\
  (~ (forall a, (a < n)%nat -> correct a = true)) /\
  count n logits correct < 2 /\
  largest_on n (fun a => negb (correct a)) logits <= smallest_on n correct logits.
