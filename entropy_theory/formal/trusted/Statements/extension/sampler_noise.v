(* Generated from the formula of the claim extension.sampler-noise (Extension of Entropy Mechanism, Lemma 1 (noise of mean zero)). *)

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

(** C_ab = sum_k mu_k d_ka d_kb, mu = softmax(sampler), where ``noise`` has d_ka at [a, k]. *)
Definition noise_covariance (n : nat) (sampler : vector) (noise : nat -> nat -> R) : nat -> nat -> R :=
  fun a b => sum n (fun c => softmax n sampler c * (noise a c * noise b c)).

(** The second order under noise of covariance C_mu, mu = softmax(sampler). *)
Definition sampler_effect (n : nat) (logits : vector) (sampler : vector) : R :=
  noise_effect n logits (noise_covariance n sampler (fun c d => (if Nat.eqb c d then 1 else 0) - softmax n logits c)).

Definition statement : Prop :=
  forall (n : nat) (correct : mask) (shift : vector) (gap : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 < gap ->
  count n (dominated n gap correct) correct < 2 ->
  0 <= (if less (sampler_effect n (dominated n gap correct) (dominated n gap correct)) 0 then 0 else (sampler_effect n (dominated n gap correct) (dominated n gap correct) - sampler_effect n (dominated n gap correct) (fun a => dominated n gap correct a + shift a)) * total_on n correct (fun a => softmax n (fun b => dominated n gap correct b + shift b) a - softmax n (dominated n gap correct) a)).

Definition witness : Prop :=
  exists (n : nat) (correct : mask) (shift : vector) (gap : R),
  (2 <= n)%nat /\
  nonempty n correct /\
  0 < gap /\
  count n (dominated n gap correct) correct < 2.
