From Coq Require Import Reals Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** Equal values at two actions of a kind. *)
Definition alike (n : nat) (A : mask) (z : vector) : Prop :=
  forall a b, (a < n)%nat -> (b < n)%nat -> A a = A b -> z a = z b.

(** Any algorithm that keeps policies alike, for ever. *)
Definition every_alike_run_stays_on_the_curve : Prop :=
  forall (n : nat) (correct : mask) (update : nat -> vector -> vector) (run : nat -> vector),
  nonempty n correct -> nonempty n (complement correct) ->
  (forall k z, alike n correct z -> alike n correct (update k z)) ->
  alike n correct (run O) ->
  (forall k a, (a < n)%nat -> run (S k) a = run k a + update k (run k) a) ->
  forall k,
  let right := total_on n correct (softmax n (run k)) in
  let wrong := total_on n (complement correct) (softmax n (run k)) in
  entropy n (run k) = - right * ln right - wrong * ln wrong
                      + (right * ln (count_on n correct) + wrong * ln (count_on n (complement correct))).
