(* Generated from the formula of the claim aepo.high-temperature-raises (AEPO, section 4.1 (Figure 2), first half, as an absolute statement). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** c_a = Cov_pi(z, delta_a). *)
Definition own_covariance (n : nat) (logits : vector) : vector :=
  fun a => softmax n logits a * centered n (softmax n logits) logits a.

(** c_a - C. *)
Definition excess (n : nat) (logits : vector) : vector :=
  centered n (softmax n logits) (own_covariance n logits).

(** F(T), the change of entropy per unit learning rate to first order; F(1) without a temperature. *)
Definition rate_without_temperature (n : nat) (logits : vector) (correct : mask) : R :=
  - total_on n correct (fun a => softmax n logits a * excess n logits a).

(** S, below zero exactly where the mean of c over A* is below C. *)
Definition sum_of_excess (n : nat) (logits : vector) (correct : mask) : R :=
  total_on n correct (excess n logits).

(** W, the sum of C - c over the actions of A* with c below C. *)
Definition missing_excess (n : nat) (logits : vector) (correct : mask) : R :=
  total_on n correct (fun a => Rmax (- excess n logits a) 0).

(** T |S| - R W, where S < 0. *)
Definition hot_enough (n : nat) (logits : vector) (correct : mask) (temperature : R) : R :=
  - temperature * sum_of_excess n logits correct - (largest_on n correct logits - smallest_on n correct logits) * missing_excess n logits correct.

(** 1 where every action is correct, else -1. *)
Definition all_correct (n : nat) (correct : mask) : R :=
  if negb (some_on n (complement correct)) then 1 else - 1.

(** F(T), the change of entropy per unit learning rate to first order; F(1) without a temperature. *)
Definition rate (n : nat) (logits : vector) (correct : mask) (temperature : R) : R :=
  - total_on n correct (fun a => softmax n (tempered temperature logits) a * excess n logits a).

Definition repair : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (temperature : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  1 < temperature ->
  0 < largest_on n correct (fun a => Rabs (excess n logits a)) ->
  0 < Rmax (Rmax (rate_without_temperature n logits correct) (hot_enough n logits correct temperature)) (all_correct n correct) ->
  0 < rate n logits correct temperature.

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (correct : mask) (temperature : R),
  (2 <= n)%nat /\
  nonempty n correct /\
  1 < temperature /\
  0 < largest_on n correct (fun a => Rabs (excess n logits a)) /\
  0 < Rmax (Rmax (rate_without_temperature n logits correct) (hot_enough n logits correct temperature)) (all_correct n correct).

Definition rate_defined (n : nat) (logits : vector) (correct : mask) (temperature : R) : Prop :=
  temperature <> 0.

Definition defined : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (temperature : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  1 < temperature ->
  0 < largest_on n correct (fun a => Rabs (excess n logits a)) ->
  0 < Rmax (Rmax (rate_without_temperature n logits correct) (hot_enough n logits correct temperature)) (all_correct n correct) ->
  rate_defined n logits correct temperature.
