(* Generated from the formula of the claim extension.response-ceiling (Extension of AEPO (exact expected dynamics on a token tree)). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** W(sa): the probability of passing s, choosing a and ending right. *)
Definition rewarded (n : nat) (h : nat) (logits : state -> vector) (correct : state -> bool) : state -> vector :=
  total_through n h (fun y => probability n logits y * (if correct y then 1 else 0)).

(** Whether some right response goes on from a token. *)
Definition viable (n : nat) (h : nat) (logits : state -> vector) (correct : state -> bool) : state -> nat -> bool :=
  fun s a => less 0 (total_through n h (fun y => if correct y then 1 else 0) s a).

(** dz per unit learning rate, drawn at a temperature: W(sa) - pi(a|s) W(s). *)
Definition tempered_step (n : nat) (h : nat) (logits : state -> vector) (correct : state -> bool) (temperature : R) : state -> vector :=
  fun s a => rewarded n h (fun u b => logits u b / temperature) correct s a - sum n (rewarded n h (fun u c => logits u c / temperature) correct s) * softmax n (logits s) a.

(** Return the same at T = 1: the gradient of the probability of a right response. *)
Definition policy_gradient (n : nat) (h : nat) (logits : state -> vector) (correct : state -> bool) : state -> vector :=
  fun s a => rewarded n h logits correct s a - sum n (rewarded n h logits correct s) * softmax n (logits s) a.

(** The probability of a right response. *)
Definition success (n : nat) (h : nat) (logits : state -> vector) (correct : state -> bool) : R :=
  sum_responses n h (fun y => probability n logits y * (if correct y then 1 else 0)).

Definition statement : Prop :=
  forall (n h : nat) (logits : state -> vector) (correct : state -> bool) (temperature : R) (learning_rate : R) (lowest : R),
  (2 <= n)%nat ->
  (1 <= h)%nat ->
  (exists y, response_of n h y /\ correct y = true) ->
  0 < temperature ->
  0 < learning_rate ->
  0 < lowest ->
  ((forall s, state_of n h s -> 0 <= sum n (rewarded n h (fun u b => logits u b / temperature) correct s) * total_on n (fun a => negb (viable n h logits correct s a)) (softmax n (logits s))) /\
  (forall s, state_of n h s -> forall a, (a < n)%nat -> 0 <= (if viable n h logits correct s a then 0 else - tempered_step n h logits correct temperature s a))) /\
  (forall s, state_of n h s -> sum n (fun a => if viable n h logits correct s a then tempered_step n h logits correct temperature s a else 0) = sum n (rewarded n h (fun u b => logits u b / temperature) correct s) * total_on n (fun a => negb (viable n h logits correct s a)) (softmax n (logits s))) /\
  (forall temperatures : nat -> R, (forall k : nat, lowest <= temperatures k) -> (forall weights : nat -> R, (forall k : nat, 0 <= weights k) -> (forall path : nat -> state -> nat -> R, ((forall k : nat, forall s, state_of n h s -> forall a, (a < n)%nat -> path (S k) s a = path k s a + learning_rate * (tempered_step n h (path k) correct (temperatures k) s a + weights k * policy_gradient n h (path k) correct s a)) -> (tends_to (fun k => success n h (path k) correct) (1)) /\ (limsup_at_most (fun k => response_entropy n h (path k)) (ln (sum_responses n h (fun y => if correct y then 1 else 0)))))))).

Definition witness : Prop :=
  exists (n h : nat) (logits : state -> vector) (correct : state -> bool) (temperature : R) (learning_rate : R) (lowest : R),
  (2 <= n)%nat /\
  (1 <= h)%nat /\
  (exists y, response_of n h y /\ correct y = true) /\
  0 < temperature /\
  0 < learning_rate /\
  0 < lowest.

Definition witness_1 : Prop :=
  exists (n h : nat) (logits : state -> vector) (correct : state -> bool) (temperature : R) (learning_rate : R) (lowest : R),
  (2 <= n)%nat /\
  (1 <= h)%nat /\
  (exists y, response_of n h y /\ correct y = true) /\
  0 < temperature /\
  0 < learning_rate /\
  0 < lowest /\
  (exists temperatures : nat -> R, (forall k : nat, lowest <= temperatures k) /\ (exists weights : nat -> R, (forall k : nat, 0 <= weights k) /\ (exists path : nat -> state -> nat -> R, (forall k : nat, forall s, state_of n h s -> forall a, (a < n)%nat -> path (S k) s a = path k s a + learning_rate * (tempered_step n h (path k) correct (temperatures k) s a + weights k * policy_gradient n h (path k) correct s a))))).

Definition tempered_step_defined (n : nat) (h : nat) (logits : state -> vector) (correct : state -> bool) (temperature : R) (s : state) (a : nat) : Prop :=
  temperature <> 0.

Definition defined : Prop :=
  forall (n h : nat) (logits : state -> vector) (correct : state -> bool) (temperature : R) (learning_rate : R) (lowest : R),
  (2 <= n)%nat ->
  (1 <= h)%nat ->
  (exists y, response_of n h y /\ correct y = true) ->
  0 < temperature ->
  0 < learning_rate ->
  0 < lowest ->
  temperature <> 0 /\
  (forall s, state_of n h s -> forall a, (a < n)%nat -> ~ (viable n h logits correct s a = true) -> tempered_step_defined n h logits correct temperature s a) /\
  (forall s, state_of n h s -> forall a, (a < n)%nat -> (viable n h logits correct s a = true) -> tempered_step_defined n h logits correct temperature s a) /\
  (forall temperatures : nat -> R, (forall k : nat, lowest <= temperatures k) -> forall path : nat -> state -> nat -> R, forall k : nat, forall s, state_of n h s -> forall a, (a < n)%nat -> tempered_step_defined n h (path k) correct (temperatures k) s a) /\
  (forall temperatures : nat -> R, (forall k : nat, lowest <= temperatures k) -> forall weights : nat -> R, (forall k : nat, 0 <= weights k) -> forall path : nat -> state -> nat -> R, (forall k : nat, forall s, state_of n h s -> forall a, (a < n)%nat -> path (S k) s a = path k s a + learning_rate * (tempered_step n h (path k) correct (temperatures k) s a + weights k * policy_gradient n h (path k) correct s a)) -> (tends_to (fun k => success n h (path k) correct) (1)) -> 0 < sum_responses n h (fun y => if correct y then 1 else 0)).
