From Coq Require Import Reals List Bool.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** PPO's objective for one token, and its slope in the ratio, off the edges of the band. *)
Definition clipped_objective (epsilon A r : R) : R :=
  Rmin (r * A) (Rmax (1 - epsilon) (Rmin r (1 + epsilon)) * A).

Definition slope_of_positive_token : Prop :=
  forall epsilon r,
  0 < epsilon -> (r < 1 + epsilon -> is_derive (clipped_objective epsilon 1) r 1)
                 /\ (1 + epsilon < r -> is_derive (clipped_objective epsilon 1) r 0).

Definition slope_of_negative_token : Prop :=
  forall epsilon r,
  0 < epsilon -> (1 - epsilon < r -> is_derive (clipped_objective epsilon (- 1)) r (- 1))
                 /\ (r < 1 - epsilon -> is_derive (clipped_objective epsilon (- 1)) r 0).
