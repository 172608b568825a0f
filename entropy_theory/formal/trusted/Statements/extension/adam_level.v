(* Generated from the formula of the claim extension.adam-level (Extension of Entropy Mechanism, Lemma 1 (noise of mean zero)). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** How many actions a set has. *)
Definition count (n : nat) (logits : vector) (chosen : mask) : R :=
  total_on n chosen (fun a => 1).

(** Logits of one action that is ahead of all others by ``gap``: [..., n]. *)
Definition dominated (n : nat) (gap : R) (correct : mask) : vector :=
  fun a => if correct a then gap else 0.

(** -(1/2) E[(1 + log pi + H)(C_aa - 2 (C pi)_a + pi' C pi)]. *)
Definition noise_effect (n : nat) (logits : vector) (covariance_ : nat -> nat -> R) : R :=
  - mean n (softmax n logits) (fun a => (1 + centered n (softmax n logits) logits a) * (sum n (fun b => (if Nat.eqb a b then 1 else 0) * covariance_ a b) - 2 * sum n (fun b => covariance_ a b * softmax n logits b) + mean n (softmax n logits) (fun b => sum n (fun c => covariance_ b c * softmax n logits c)))) / 2.

(** S_ab/sqrt(S_aa S_bb), from S and its diagonal. *)
Definition scaled (n : nat) (covariance_ : nat -> nat -> R) (own : vector) : nat -> nat -> R :=
  fun a b => covariance_ a b / (sqrt (own a) * sqrt (own b)).

(** C_ab = sum_k mu_k d_ka d_kb, mu = softmax(sampler), where ``noise`` has d_ka at [a, k]. *)
Definition noise_covariance (n : nat) (sampler : vector) (noise : nat -> nat -> R) : nat -> nat -> R :=
  fun a b => sum n (fun c => softmax n sampler c * (noise a c * noise b c)).

(** S = sum_k pi_k (e_k - pi)(e_k - pi)'. *)
Definition score_covariance (n : nat) (logits : vector) : nat -> nat -> R :=
  noise_covariance n logits (fun c d => (if Nat.eqb c d then 1 else 0) - softmax n logits c).

(** 1 - pi_a, summed over the other actions. *)
Definition rest (n : nat) (policy : vector) : vector :=
  fun a => sum n (fun b => if Nat.eqb a b then 0 else policy b).

(** The second order under noise of covariance S_ab/sqrt(S_aa S_bb). *)
Definition settled_effect (n : nat) (logits : vector) : R :=
  noise_effect n logits (scaled n (score_covariance n logits) (fun c => softmax n logits c * rest n (softmax n logits) c)).

(** The second order under noise of its own at each logit, of variance pi_a. *)
Definition sign_effect (n : nat) (logits : vector) : R :=
  noise_effect n logits (fun a b => (if Nat.eqb a b then 1 else 0) * softmax n logits b).

Definition statement : Prop :=
  forall (n : nat) (correct : mask) (gap : R) (factor : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 < gap ->
  1 < factor ->
  count n (dominated n gap correct) correct < 2 ->
  0 < (if negb (less 1 gap) then - settled_effect n (dominated n gap correct) else 1) /\
  0 < (if negb (less gap (2 + ln (count n (dominated n gap correct) (fun a => negb (correct a))))) then settled_effect n (dominated n gap correct) else 1) /\
  0 < (if less (settled_effect n (dominated n gap correct)) 0 then 1 else settled_effect n (dominated n (gap * factor) correct)) /\
  0 < (if negb (less 1 gap) then - sign_effect n (dominated n gap correct) else 1) /\
  0 < (if negb (less gap (2 + ln (count n (dominated n gap correct) (fun a => negb (correct a))))) then sign_effect n (dominated n gap correct) else 1) /\
  0 < (if less (sign_effect n (dominated n gap correct)) 0 then 1 else sign_effect n (dominated n (gap * factor) correct)).

Definition witness : Prop :=
  exists (n : nat) (correct : mask) (gap : R) (factor : R),
  (2 <= n)%nat /\
  nonempty n correct /\
  0 < gap /\
  1 < factor /\
  count n (dominated n gap correct) correct < 2.

Definition scaled_defined (n : nat) (covariance_ : nat -> nat -> R) (own : vector) (a : nat) (b : nat) : Prop :=
  0 <= own a /\
  0 <= own b /\
  sqrt (own a) * sqrt (own b) <> 0.

Definition settled_effect_defined (n : nat) (logits : vector) : Prop :=
  (forall a, (a < n)%nat -> forall b, (b < n)%nat -> scaled_defined n (score_covariance n logits) (fun c => softmax n logits c * rest n (softmax n logits) c) a b).

Definition defined : Prop :=
  forall (n : nat) (correct : mask) (gap : R) (factor : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 < gap ->
  1 < factor ->
  count n (dominated n gap correct) correct < 2 ->
  ((~ (1 < gap)) -> settled_effect_defined n (dominated n gap correct)) /\
  0 < count n (dominated n gap correct) (fun a => negb (correct a)) /\
  ((~ (gap < 2 + ln (count n (dominated n gap correct) (fun a => negb (correct a))))) -> settled_effect_defined n (dominated n gap correct)) /\
  settled_effect_defined n (dominated n gap correct) /\
  (~ (settled_effect n (dominated n gap correct) < 0) -> settled_effect_defined n (dominated n (gap * factor) correct)).
