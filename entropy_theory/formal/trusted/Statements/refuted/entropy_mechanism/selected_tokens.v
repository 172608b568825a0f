(* Generated from the formula of the claim entropy-mechanism.selected-tokens (Entropy Mechanism, guidelines for entropy control ('high-covariance tokens') and Closing Thoughts, as read here). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** Values minus their mean over the batch. *)
Definition deviation (n : nat) (values : vector) : vector :=
  fun a => values a - sum n values / INR n.

(** K = (log pi - mean)(A - mean), as in the code. *)
Definition cross_product (n : nat) (surprisal : vector) (advantage : vector) : vector :=
  fun a => deviation n (fun b => - surprisal b) a * deviation n advantage a.

Definition printed : Prop :=
  forall (n : nat) (surprisal : vector) (advantage : vector) (lower : R),
  (2 <= n)%nat ->
  (forall a, (a < n)%nat -> 0 <= surprisal a) ->
  0 < lower ->
  (exists a, (a < n)%nat /\ (~ (cross_product n surprisal advantage a < lower))) ->
  (forall a, (a < n)%nat -> 0 <= (if negb (less (cross_product n surprisal advantage a) lower) then deviation n (fun b => - surprisal b) a else 1)) /\
  (forall a, (a < n)%nat -> 0 <= (if negb (less (cross_product n surprisal advantage a) lower) then deviation n advantage a else 1)).

Definition deviation_defined (n : nat) (values : vector) (a : nat) : Prop :=
  INR n <> 0.

Definition cross_product_defined (n : nat) (surprisal : vector) (advantage : vector) (a : nat) : Prop :=
  deviation_defined n (fun b => - surprisal b) a /\
  deviation_defined n advantage a.

Definition defined : Prop :=
  forall (n : nat) (surprisal : vector) (advantage : vector) (lower : R),
  (2 <= n)%nat ->
  (forall a, (a < n)%nat -> 0 <= surprisal a) ->
  0 < lower ->
  (exists a, (a < n)%nat /\ (~ (cross_product n surprisal advantage a < lower))) ->
  (forall a, (a < n)%nat -> cross_product_defined n surprisal advantage a) /\
  (forall a, (a < n)%nat -> (~ (cross_product n surprisal advantage a < lower)) -> deviation_defined n (fun b => - surprisal b) a) /\
  (forall a, (a < n)%nat -> (~ (cross_product n surprisal advantage a < lower)) -> deviation_defined n advantage a).

(** There is an instance at which it fails. *)
Definition refuted : Prop := ~ printed.
