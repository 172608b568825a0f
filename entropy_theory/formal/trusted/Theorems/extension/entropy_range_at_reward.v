From Coq Require Import Reals.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** Equal values at two actions of a kind. *)
Definition alike (n : nat) (A : mask) (z : vector) : Prop :=
  forall a b, (a < n)%nat -> (b < n)%nat -> A a = A b -> z a = z b.

(** The upper end is attained. *)
Definition widest_attained : Prop :=
  forall (n : nat) (logits : vector) (correct : mask),
  nonempty n correct -> nonempty n (complement correct) -> alike n correct logits ->
  let right := total_on n correct (softmax n logits) in
  let wrong := total_on n (complement correct) (softmax n logits) in
  entropy n logits = - right * ln right - wrong * ln wrong
                     + (right * ln (count_on n correct) + wrong * ln (count_on n (complement correct))).
