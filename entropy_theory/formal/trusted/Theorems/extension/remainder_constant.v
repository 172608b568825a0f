From Coq Require Import Reals.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
Open Scope R_scope.

Definition remainder (n : nat) (logits step : vector) : R :=
  entropy_change n logits step - - covariance n (softmax n logits) logits step.

Definition squared_norm (n : nat) (step : vector) : R := sum n (fun a => step a * step a).

(** No constant is good for every number of actions. *)
Definition no_constant_free_of_n : Prop :=
  forall K, ~ forall (n : nat) (logits step : vector),
    (4 <= n)%nat -> Rabs (remainder n logits step) <= K * squared_norm n step / 2.
