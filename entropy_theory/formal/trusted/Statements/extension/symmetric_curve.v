(* Generated from the formula of the claim extension.symmetric-curve (Extension of Entropy Mechanism, 'algorithm-irrelevant'). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** h(R) from both probabilities, so that neither is lost in a difference from 1. *)
Definition binary (right : R) (wrong : R) : R :=
  - right * ln right - wrong * ln wrong.

(** Probability of a right answer. *)
Definition performance (n : nat) (logits : vector) (correct : mask) : R :=
  total_on n correct (softmax n logits).

(** Probability of a wrong answer, summed and not taken from 1. *)
Definition failure (n : nat) (logits : vector) (correct : mask) : R :=
  total_on n (fun a => negb (correct a)) (softmax n logits).

(** R log m + (1 - R) log(n - m). *)
Definition widest (n : nat) (logits : vector) (correct : mask) : R :=
  performance n logits correct * ln (total_on n correct (fun a => 1)) + failure n logits correct * ln (Rmax (total_on n (fun a => negb (correct a)) (fun a => 1)) 1).

(** H minus the largest entropy that the performance allows. *)
Definition off_the_curve (n : nat) (logits : vector) (correct : mask) : R :=
  entropy n logits - (binary (performance n logits correct) (failure n logits correct) + widest n logits correct).

(** The first logit for the right actions and the second for the wrong ones. *)
Definition two_logits (n : nat) (logits : vector) (correct : mask) : vector :=
  fun a => if correct a then logits 0%nat else logits 1%nat.

(** One exact expected policy-gradient step per unit learning rate: pi (1_{A*} - R). *)
Definition gradient_step (n : nat) (logits : vector) (correct : mask) : vector :=
  fun a => softmax n logits a * (if correct a then total_on n (fun b => negb (correct b)) (softmax n logits) else - total_on n correct (softmax n logits)).

(** The expected logit step per unit learning rate (Eqs. 4, 5): 1_{A*} pi^T - P_T pi. *)
Definition unit_step (n : nat) (logits : vector) (correct : mask) (temperature : R) : vector :=
  fun a => (if correct a then softmax n (tempered temperature logits) a else 0) - total_on n correct (softmax n (tempered temperature logits)) * softmax n logits a.

(** REINFORCE, tempered REINFORCE and an entropy bonus together, per unit learning rate. *)
Definition mixed_step (n : nat) (logits : vector) (correct : mask) (temperature : R) (bonus : R) : vector :=
  fun a => gradient_step n logits correct a + unit_step n logits correct temperature a + bonus * entropy_gradient n logits a.

(** The natural policy gradient per unit learning rate: 1_{A*} - R. *)
Definition natural_step (n : nat) (logits : vector) (correct : mask) : vector :=
  fun a => if correct a then failure n logits correct else - performance n logits correct.

Definition statement : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (learning_rate : R) (temperature : R) (bonus : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 < learning_rate ->
  0 < temperature ->
  0 < bonus ->
  (~ (forall a, (a < n)%nat -> correct a = true)) ->
  off_the_curve n (fun a => two_logits n logits correct a + learning_rate * mixed_step n (two_logits n logits correct) correct temperature bonus a + learning_rate * natural_step n (fun b => two_logits n logits correct b + learning_rate * mixed_step n (two_logits n logits correct) correct temperature bonus b) correct a) correct = 0 /\
  (forall policy : vector, ((forall a, (a < n)%nat -> forall b, (b < n)%nat -> (~ (((correct a = true) /\ (correct b = true)) \/ ((~ (correct a = true)) /\ (~ (correct b = true))))) \/ (policy a = policy b)) -> off_the_curve n policy correct = 0)).

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (correct : mask) (learning_rate : R) (temperature : R) (bonus : R),
  (2 <= n)%nat /\
  nonempty n correct /\
  0 < learning_rate /\
  0 < temperature /\
  0 < bonus /\
  (~ (forall a, (a < n)%nat -> correct a = true)).

Definition witness_1 : Prop :=
  exists (n : nat) (logits : vector) (correct : mask) (learning_rate : R) (temperature : R) (bonus : R),
  (2 <= n)%nat /\
  nonempty n correct /\
  0 < learning_rate /\
  0 < temperature /\
  0 < bonus /\
  (~ (forall a, (a < n)%nat -> correct a = true)) /\
  (exists policy : vector, (forall a, (a < n)%nat -> forall b, (b < n)%nat -> (~ (((correct a = true) /\ (correct b = true)) \/ ((~ (correct a = true)) /\ (~ (correct b = true))))) \/ (policy a = policy b))).

Definition unit_step_defined (n : nat) (logits : vector) (correct : mask) (temperature : R) (a : nat) : Prop :=
  temperature <> 0.

Definition mixed_step_defined (n : nat) (logits : vector) (correct : mask) (temperature : R) (bonus : R) (a : nat) : Prop :=
  unit_step_defined n logits correct temperature a.

Definition binary_defined (right : R) (wrong : R) : Prop :=
  0 < right /\
  0 < wrong.

Definition widest_defined (n : nat) (logits : vector) (correct : mask) : Prop :=
  0 < total_on n correct (fun a => 1) /\
  0 < Rmax (total_on n (fun a => negb (correct a)) (fun a => 1)) 1.

Definition off_the_curve_defined (n : nat) (logits : vector) (correct : mask) : Prop :=
  binary_defined (performance n logits correct) (failure n logits correct) /\
  widest_defined n logits correct.

Definition defined : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (learning_rate : R) (temperature : R) (bonus : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 < learning_rate ->
  0 < temperature ->
  0 < bonus ->
  (~ (forall a, (a < n)%nat -> correct a = true)) ->
  (forall a, (a < n)%nat -> mixed_step_defined n (two_logits n logits correct) correct temperature bonus a) /\
  (forall b, (b < n)%nat -> mixed_step_defined n (two_logits n logits correct) correct temperature bonus b) /\
  off_the_curve_defined n (fun a => two_logits n logits correct a + learning_rate * mixed_step n (two_logits n logits correct) correct temperature bonus a + learning_rate * natural_step n (fun b => two_logits n logits correct b + learning_rate * mixed_step n (two_logits n logits correct) correct temperature bonus b) correct a) correct /\
  (forall policy : vector, (forall a, (a < n)%nat -> forall b, (b < n)%nat -> (~ (((correct a = true) /\ (correct b = true)) \/ ((~ (correct a = true)) /\ (~ (correct b = true))))) \/ (policy a = policy b)) -> off_the_curve_defined n policy correct).
