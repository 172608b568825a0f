(* Generated from the formula of the claim aepo.revival-time (AEPO, Section 4.1 (collapse can be counteracted) and Figure 2). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** How far each logit is below the largest: gaps D of two answers. *)
Definition gaps_below_top (n : nat) (logits : vector) : vector :=
  fun a => largest n logits - logits a.

(** W, the sum of e^{-(z_1 - z_a)/T} over all answers a but the likeliest, 1. *)
Definition others_weight (n : nat) (logits : vector) (temperature : R) : R :=
  sum n (fun a => exp (- (gaps_below_top n logits a / temperature))) - 1.

(** The step per unit learning rate on the solved face: q^T - q. *)
Definition face_step (n : nat) (logits : vector) (temperature : R) : vector :=
  fun a => softmax n (tempered temperature logits) a - softmax n logits a.

(** f_T(D) = tanh(D/2) - tanh(D/(2T)) for many gaps D. *)
Definition speeds (n : nat) (gaps : vector) (temperature : R) : vector :=
  fun a => 2 * (- exp (- gaps a / temperature) * (exp (- gaps a * (temperature - 1) / temperature) - 1)) / ((1 + exp (- gaps a / temperature)) * (1 + exp (- gaps a))).

(** D' = D - eta f_T(D), the gap of two right answers after a step. *)
Definition after_step (n : nat) (gaps : vector) (temperature : R) (learning_rate : R) : vector :=
  fun a => gaps a - learning_rate * speeds n gaps temperature a.

(** c(D) = f_T(D) e^{D/T} for many gaps D. *)
Definition slownesses (n : nat) (gaps : vector) (temperature : R) : vector :=
  fun a => speeds n gaps temperature a * exp (gaps a / temperature).

Definition statement : Prop :=
  forall (n : nat) (logits : vector) (temperature : R) (learning_rate : R),
  (2 <= n)%nat ->
  1 < temperature ->
  0 < learning_rate ->
  learning_rate <= 2 ->
  ((forall a, (a < n)%nat -> forall b, (b < n)%nat -> face_step n logits temperature b - face_step n logits temperature a <= 2 * others_weight n logits temperature) /\
  (forall a, (a < n)%nat -> - (exp (- (gaps_below_top n logits a - after_step n (gaps_below_top n logits) temperature learning_rate a) / temperature) - 1) <= 2 * learning_rate / temperature * exp (- gaps_below_top n logits a / temperature)) /\
  (forall a, (a < n)%nat -> learning_rate * slownesses n (after_step n (gaps_below_top n logits) temperature learning_rate) temperature a / (temperature + learning_rate) * exp (- gaps_below_top n logits a / temperature) <= - (exp (- (gaps_below_top n logits a - after_step n (gaps_below_top n logits) temperature learning_rate a) / temperature) - 1))) /\
  (forall k : nat, forall a, (a < n)%nat -> ((0 <= run (fun j z => (after_step n z temperature learning_rate)) (gaps_below_top n logits) k a) /\ (temperature / (2 * learning_rate) * (exp (gaps_below_top n logits a / temperature) - exp (run (fun j z => (after_step n z temperature learning_rate)) (gaps_below_top n logits) k a / temperature)) <= INR k)) /\ (INR k * (learning_rate * slownesses n (run (fun j z => (after_step n z temperature learning_rate)) (gaps_below_top n logits) k) temperature a) <= (temperature + learning_rate) * (exp (gaps_below_top n logits a / temperature) - exp (run (fun j z => (after_step n z temperature learning_rate)) (gaps_below_top n logits) k a / temperature)))).

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (temperature : R) (learning_rate : R),
  (2 <= n)%nat /\
  1 < temperature /\
  0 < learning_rate /\
  learning_rate <= 2.

Definition others_weight_defined (n : nat) (logits : vector) (temperature : R) : Prop :=
  temperature <> 0.

Definition face_step_defined (n : nat) (logits : vector) (temperature : R) (a : nat) : Prop :=
  temperature <> 0.

Definition speeds_defined (n : nat) (gaps : vector) (temperature : R) (a : nat) : Prop :=
  temperature <> 0 /\
  (1 + exp (- gaps a / temperature)) * (1 + exp (- gaps a)) <> 0.

Definition after_step_defined (n : nat) (gaps : vector) (temperature : R) (learning_rate : R) (a : nat) : Prop :=
  speeds_defined n gaps temperature a.

Definition slownesses_defined (n : nat) (gaps : vector) (temperature : R) (a : nat) : Prop :=
  speeds_defined n gaps temperature a /\
  temperature <> 0.

Definition defined : Prop :=
  forall (n : nat) (logits : vector) (temperature : R) (learning_rate : R),
  (2 <= n)%nat ->
  1 < temperature ->
  0 < learning_rate ->
  learning_rate <= 2 ->
  others_weight_defined n logits temperature /\
  (forall b, (b < n)%nat -> face_step_defined n logits temperature b) /\
  (forall a, (a < n)%nat -> face_step_defined n logits temperature a) /\
  temperature <> 0 /\
  (forall a, (a < n)%nat -> after_step_defined n (gaps_below_top n logits) temperature learning_rate a) /\
  (forall b, (b < n)%nat -> after_step_defined n (gaps_below_top n logits) temperature learning_rate b) /\
  (forall a, (a < n)%nat -> slownesses_defined n (after_step n (gaps_below_top n logits) temperature learning_rate) temperature a) /\
  temperature + learning_rate <> 0 /\
  (forall j : nat, forall z : vector, forall b, (b < n)%nat -> after_step_defined n z temperature learning_rate b) /\
  (forall k : nat, forall a, (a < n)%nat -> (0 <= run (fun j z => (after_step n z temperature learning_rate)) (gaps_below_top n logits) k a) -> 2 * learning_rate <> 0) /\
  (forall k : nat, forall a, (a < n)%nat -> (0 <= run (fun j z => (after_step n z temperature learning_rate)) (gaps_below_top n logits) k a) -> temperature <> 0) /\
  (forall k : nat, forall a, (a < n)%nat -> (0 <= run (fun j z => (after_step n z temperature learning_rate)) (gaps_below_top n logits) k a) -> forall j : nat, forall z : vector, forall b, (b < n)%nat -> after_step_defined n z temperature learning_rate b) /\
  (forall k : nat, forall a, (a < n)%nat -> ((0 <= run (fun j z => (after_step n z temperature learning_rate)) (gaps_below_top n logits) k a) /\ (temperature / (2 * learning_rate) * (exp (gaps_below_top n logits a / temperature) - exp (run (fun j z => (after_step n z temperature learning_rate)) (gaps_below_top n logits) k a / temperature)) <= INR k)) -> forall j : nat, forall z : vector, forall c, (c < n)%nat -> after_step_defined n z temperature learning_rate c) /\
  (forall k : nat, forall a, (a < n)%nat -> ((0 <= run (fun j z => (after_step n z temperature learning_rate)) (gaps_below_top n logits) k a) /\ (temperature / (2 * learning_rate) * (exp (gaps_below_top n logits a / temperature) - exp (run (fun j z => (after_step n z temperature learning_rate)) (gaps_below_top n logits) k a / temperature)) <= INR k)) -> slownesses_defined n (run (fun j z => (after_step n z temperature learning_rate)) (gaps_below_top n logits) k) temperature a) /\
  (forall k : nat, forall a, (a < n)%nat -> ((0 <= run (fun j z => (after_step n z temperature learning_rate)) (gaps_below_top n logits) k a) /\ (temperature / (2 * learning_rate) * (exp (gaps_below_top n logits a / temperature) - exp (run (fun j z => (after_step n z temperature learning_rate)) (gaps_below_top n logits) k a / temperature)) <= INR k)) -> temperature <> 0) /\
  (forall k : nat, forall a, (a < n)%nat -> ((0 <= run (fun j z => (after_step n z temperature learning_rate)) (gaps_below_top n logits) k a) /\ (temperature / (2 * learning_rate) * (exp (gaps_below_top n logits a / temperature) - exp (run (fun j z => (after_step n z temperature learning_rate)) (gaps_below_top n logits) k a / temperature)) <= INR k)) -> forall j : nat, forall z : vector, forall b, (b < n)%nat -> after_step_defined n z temperature learning_rate b).
