(** What the theorems beside aepo.revival_time suppose can be met; what they speak of is defined. *)

From Coq Require Import Reals.
From Trusted Require Import Definitions.
From Trusted.Theorems.aepo Require Import revival_time.
Open Scope R_scope.

Definition time_of_two_answers_witness : Prop :=
  exists (temperature : R) (learning_rate : R),
  1 < temperature /\
  0 < learning_rate <= 2 /\
  exists (n : nat) (logits : vector) (top : nat) (a : nat) (lead : R),
  (2 <= n)%nat /\
  (top < n)%nat /\
  (a < n)%nat /\
  (forall b, (b < n)%nat -> b <> top -> lead <= logits top - logits b).

Definition time_of_two_answers_witness_1 : Prop :=
  exists (temperature : R) (learning_rate : R),
  1 < temperature /\
  0 < learning_rate <= 2 /\
  let all := fun _ : nat => true in
  exists (logits : nat -> vector),
  (forall k a, (a < 2)%nat -> logits (S k) a = logits k a + learning_rate * unit_step 2 (logits k) all temperature a) /\
  let gap k := logits k 0%nat - logits k 1%nat in
  0 <= gap 0%nat /\
  exists N,
  0 < gap N.

Definition time_of_two_answers_witness_2 : Prop :=
  exists (temperature : R) (learning_rate : R),
  1 < temperature /\
  0 < learning_rate <= 2 /\
  let all := fun _ : nat => true in
  exists (logits : nat -> vector),
  (forall k a, (a < 2)%nat -> logits (S k) a = logits k a + learning_rate * unit_step 2 (logits k) all temperature a) /\
  let gap k := logits k 0%nat - logits k 1%nat in
  0 <= gap 0%nat /\
  exists N D,
  D <= gap N /\
  0 <= D.

Definition speed_defined (gap : R) (temperature : R) : Prop :=
  temperature <> 0 /\
  (let hot := exp (- gap / temperature) in
  let cold := exp (- gap) in
  (1 + hot) * (1 + cold) <> 0).

Definition slowness_defined (gap : R) (temperature : R) : Prop :=
  speed_defined gap temperature /\
  temperature <> 0.

Definition unit_step_defined (n : nat) (logits : vector) (correct : mask) (temperature : R) : Prop :=
  temperature <> 0.

Definition time_of_two_answers_defined : Prop :=
  forall (temperature : R) (learning_rate : R),
  1 < temperature ->
  0 < learning_rate <= 2 ->
  let all := fun _ : nat => true in
  (forall (n : nat) (logits : vector) (top : nat) (a : nat) (lead : R),
  (2 <= n)%nat ->
  (top < n)%nat ->
  (a < n)%nat ->
  (forall b, (b < n)%nat -> b <> top -> lead <= logits top - logits b) ->
  unit_step_defined n logits all temperature /\
  temperature <> 0) /\
  (forall (logits : nat -> vector),
  (forall k a,
  (a < 2)%nat ->
  unit_step_defined 2 (logits k) all temperature) /\
  ((forall k a, (a < 2)%nat -> logits (S k) a = logits k a + learning_rate * unit_step 2 (logits k) all temperature a) ->
  let gap k := logits k 0%nat - logits k 1%nat in
  0 <= gap 0%nat ->
  (forall k,
  speed_defined (gap k) temperature) /\
  (forall N,
  2 * learning_rate <> 0 /\
  temperature <> 0 /\
  (slowness_defined (gap N) temperature /\
  temperature <> 0 /\
  ((0 < gap N ->
  slowness_defined (gap N) temperature /\
  learning_rate * slowness (gap N) temperature <> 0 /\
  temperature <> 0) /\
  (forall D,
  D <= gap N ->
  0 <= D ->
  slowness_defined D temperature /\
  slowness_defined (gap N) temperature)))))).
