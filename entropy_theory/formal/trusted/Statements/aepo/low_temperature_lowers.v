(* Generated from the formula of the claim aepo.low-temperature-lowers (AEPO, section 4.1 (Figure 2), second half, as an absolute statement). *)

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

(** max_{A*} c - C. *)
Definition largest_excess (n : nat) (logits : vector) (correct : mask) : R :=
  largest_on n correct (excess n logits).

(** W, the sum of C - c over the actions of A* with c below C. *)
Definition missing_excess (n : nat) (logits : vector) (correct : mask) : R :=
  total_on n correct (fun a => Rmax (- excess n logits a) 0).

(** D, from the largest correct logit down to the nearest one with c below C. *)
Definition distance (n : nat) (logits : vector) (correct : mask) : R :=
  largest_on n correct logits - largest n (fun a => if andb (correct a) (less (excess n logits a) 0) then logits a else smallest_on n correct logits).

(** max_{A*} w - W e^{-D/T}. *)
Definition cold_enough (n : nat) (logits : vector) (correct : mask) (temperature : R) : R :=
  largest_excess n logits correct - missing_excess n logits correct * exp (- distance n logits correct / temperature).

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
  0 < temperature ->
  temperature < 1 ->
  0 < largest_on n correct (fun a => Rabs (excess n logits a)) ->
  0 < Rmax (Rmax (- rate_without_temperature n logits correct) (cold_enough n logits correct temperature)) (all_correct n correct) ->
  0 < - rate n logits correct temperature.

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (correct : mask) (temperature : R),
  (2 <= n)%nat /\
  nonempty n correct /\
  0 < temperature /\
  temperature < 1 /\
  0 < largest_on n correct (fun a => Rabs (excess n logits a)) /\
  0 < Rmax (Rmax (- rate_without_temperature n logits correct) (cold_enough n logits correct temperature)) (all_correct n correct).

Definition cold_enough_defined (n : nat) (logits : vector) (correct : mask) (temperature : R) : Prop :=
  temperature <> 0.

Definition rate_defined (n : nat) (logits : vector) (correct : mask) (temperature : R) : Prop :=
  temperature <> 0.

Definition defined : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (temperature : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 < temperature ->
  temperature < 1 ->
  0 < largest_on n correct (fun a => Rabs (excess n logits a)) ->
  0 < Rmax (Rmax (- rate_without_temperature n logits correct) (cold_enough n logits correct temperature)) (all_correct n correct) ->
  cold_enough_defined n logits correct temperature /\
  rate_defined n logits correct temperature.
