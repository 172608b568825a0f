(* Generated from the formula of the claim extension.score-noise (Extension of Entropy Mechanism, Lemma 1 (noise of mean zero)). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** How many actions a set has. *)
Definition count (n : nat) (logits : vector) (chosen : mask) : R :=
  total_on n chosen (fun a => 1).

(** Logits of one action that is ahead of all others by ``gap``: [..., n]. *)
Definition dominated (n : nat) (gap : R) (correct : mask) : vector :=
  fun a => if correct a then gap else 0.

(** Cov_pi(pi, log pi) - (1 - sum pi^2)/2. *)
Definition isotropic_effect (n : nat) (logits : vector) : R :=
  covariance n (softmax n logits) logits (softmax n logits) - sum n (fun a => softmax n logits a * (1 - softmax n logits a)) / 2.

(** The second order under isotropic noise. *)
Definition isotropic_closed (p : R) (q : R) (gap : R) (others : R) : R :=
  others * q * (p * (p - q) * gap - (1 + p - q) / 2).

(** p = e^D/(e^D + m). *)
Definition likely (gap : R) (others : R) : R :=
  1 / (1 + others * exp (- gap)).

(** q = 1/(e^D + m). *)
Definition rare (gap : R) (others : R) : R :=
  exp (- gap) / (1 + others * exp (- gap)).

(** The second order under SGD's noise, from moments of pi. *)
Definition score_effect (n : nat) (logits : vector) : R :=
  - (sum n (fun a => softmax n logits a * softmax n logits a) + sum n (fun a => softmax n logits a * softmax n logits a) * sum n (fun a => softmax n logits a * softmax n logits a) - 2 * sum n (fun a => softmax n logits a * softmax n logits a * softmax n logits a) + (1 + 2 * sum n (fun a => softmax n logits a * softmax n logits a)) * covariance n (softmax n logits) logits (softmax n logits) - 3 * covariance n (softmax n logits) logits (fun a => softmax n logits a * softmax n logits a)) / 2.

(** The second order under SGD's noise. *)
Definition score_closed (p : R) (q : R) (gap : R) (others : R) : R :=
  others * q * q / 2 * (p * (p - q) * gap * ((2 * p - 1) * others + 2 * p + 1) - (p * p * (others + 2) + 1 - q * (1 + p))).

(** 1 - pi_a, summed over the other actions. *)
Definition rest (n : nat) (policy : vector) : vector :=
  fun a => sum n (fun b => if Nat.eqb a b then 0 else policy b).

(** w = sqrt(pi/(1 - pi)). *)
Definition odds_root (n : nat) (logits : vector) : vector :=
  fun a => sqrt (softmax n logits a / rest n (softmax n logits) a).

(** The second order under Adam's noise, from moments of pi and w. *)
Definition adam_effect (n : nat) (logits : vector) : R :=
  covariance n (softmax n logits) logits (fun a => odds_root n logits a * odds_root n logits a) - mean n (softmax n logits) (odds_root n logits) * covariance n (softmax n logits) logits (odds_root n logits) - (1 - covariance n (softmax n logits) (odds_root n logits) (odds_root n logits)) / 2.

(** The second order under Adam's noise. *)
Definition adam_closed (p : R) (q : R) (gap : R) (others : R) : R :=
  p * (others * q) * gap * (sqrt (p / (others * q)) - sqrt (q / (1 - q))) * (others * q * sqrt (p / (others * q)) + p * sqrt (q / (1 - q))) - (1 - p * (others * q) * ((sqrt (p / (others * q)) - sqrt (q / (1 - q))) * (sqrt (p / (others * q)) - sqrt (q / (1 - q))))) / 2.

Definition repair : Prop :=
  forall (n : nat) (correct : mask) (gap : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 < gap ->
  count n (dominated n gap correct) correct < 2 ->
  (isotropic_effect n (dominated n gap correct) = isotropic_closed (likely gap (count n (dominated n gap correct) (fun a => negb (correct a)))) (rare gap (count n (dominated n gap correct) (fun a => negb (correct a)))) gap (count n (dominated n gap correct) (fun a => negb (correct a))) /\
  score_effect n (dominated n gap correct) = score_closed (likely gap (count n (dominated n gap correct) (fun a => negb (correct a)))) (rare gap (count n (dominated n gap correct) (fun a => negb (correct a)))) gap (count n (dominated n gap correct) (fun a => negb (correct a))) /\
  adam_effect n (dominated n gap correct) = adam_closed (likely gap (count n (dominated n gap correct) (fun a => negb (correct a)))) (rare gap (count n (dominated n gap correct) (fun a => negb (correct a)))) gap (count n (dominated n gap correct) (fun a => negb (correct a)))) /\
  tends_to (fun k => isotropic_effect n (dominated n (INR (S k)) correct) / (count n (dominated n (INR (S k)) correct) (fun a => negb (correct a)) * (total_on n (fun a => negb (correct a)) (softmax n (dominated n (INR (S k)) correct)) * INR (S k)))) (1 / (INR n - 1)) /\
  tends_to (fun k => score_effect n (dominated n (INR (S k)) correct) / (sum n (fun a => softmax n (dominated n (INR (S k)) correct) a * (1 - softmax n (dominated n (INR (S k)) correct) a)) * (total_on n (fun a => negb (correct a)) (softmax n (dominated n (INR (S k)) correct)) * INR (S k)))) ((INR n + 2) / 4 * (1 / (INR n - 1))).

Definition witness : Prop :=
  exists (n : nat) (correct : mask) (gap : R),
  (2 <= n)%nat /\
  nonempty n correct /\
  0 < gap /\
  count n (dominated n gap correct) correct < 2.

Definition likely_defined (gap : R) (others : R) : Prop :=
  1 + others * exp (- gap) <> 0.

Definition rare_defined (gap : R) (others : R) : Prop :=
  1 + others * exp (- gap) <> 0.

Definition odds_root_defined (n : nat) (logits : vector) (a : nat) : Prop :=
  rest n (softmax n logits) a <> 0 /\
  0 <= softmax n logits a / rest n (softmax n logits) a.

Definition adam_effect_defined (n : nat) (logits : vector) : Prop :=
  (forall a, (a < n)%nat -> odds_root_defined n logits a).

Definition adam_closed_defined (p : R) (q : R) (gap : R) (others : R) : Prop :=
  others * q <> 0 /\
  0 <= p / (others * q) /\
  1 - q <> 0 /\
  0 <= q / (1 - q).

Definition defined : Prop :=
  forall (n : nat) (correct : mask) (gap : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 < gap ->
  count n (dominated n gap correct) correct < 2 ->
  likely_defined gap (count n (dominated n gap correct) (fun a => negb (correct a))) /\
  rare_defined gap (count n (dominated n gap correct) (fun a => negb (correct a))) /\
  adam_effect_defined n (dominated n gap correct) /\
  adam_closed_defined (likely gap (count n (dominated n gap correct) (fun a => negb (correct a)))) (rare gap (count n (dominated n gap correct) (fun a => negb (correct a)))) gap (count n (dominated n gap correct) (fun a => negb (correct a))) /\
  (forall k : nat, count n (dominated n (INR (S k)) correct) (fun a => negb (correct a)) * (total_on n (fun a => negb (correct a)) (softmax n (dominated n (INR (S k)) correct)) * INR (S k)) <> 0) /\
  INR n - 1 <> 0 /\
  (forall k : nat, sum n (fun a => softmax n (dominated n (INR (S k)) correct) a * (1 - softmax n (dominated n (INR (S k)) correct) a)) * (total_on n (fun a => negb (correct a)) (softmax n (dominated n (INR (S k)) correct)) * INR (S k)) <> 0).
