(* Generated from the formula of the claim extension.noise-shapes (Extension of Entropy Mechanism, Lemma 1 (noise of mean zero)). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** -(1/2) E[(1 + log pi + H)(C_aa - 2 (C pi)_a + pi' C pi)]. *)
Definition noise_effect (n : nat) (logits : vector) (covariance_ : nat -> nat -> R) : R :=
  - mean n (softmax n logits) (fun a => (1 + centered n (softmax n logits) logits a) * (sum n (fun b => (if Nat.eqb a b then 1 else 0) * covariance_ a b) - 2 * sum n (fun b => covariance_ a b * softmax n logits b) + mean n (softmax n logits) (fun b => sum n (fun c => covariance_ b c * softmax n logits c)))) / 2.

(** Cov_pi(pi, log pi) - (1 - sum pi^2)/2. *)
Definition isotropic_effect (n : nat) (logits : vector) : R :=
  covariance n (softmax n logits) logits (softmax n logits) - sum n (fun a => softmax n logits a * (1 - softmax n logits a)) / 2.

(** C_ab = sum_k mu_k d_ka d_kb, mu = softmax(sampler), where ``noise`` has d_ka at [a, k]. *)
Definition noise_covariance (n : nat) (sampler : vector) (noise : nat -> nat -> R) : nat -> nat -> R :=
  fun a b => sum n (fun c => softmax n sampler c * (noise a c * noise b c)).

(** S = sum_k pi_k (e_k - pi)(e_k - pi)'. *)
Definition score_covariance (n : nat) (logits : vector) : nat -> nat -> R :=
  noise_covariance n logits (fun c d => (if Nat.eqb c d then 1 else 0) - softmax n logits c).

(** The second order under SGD's noise, from moments of pi. *)
Definition score_effect (n : nat) (logits : vector) : R :=
  - (sum n (fun a => softmax n logits a * softmax n logits a) + sum n (fun a => softmax n logits a * softmax n logits a) * sum n (fun a => softmax n logits a * softmax n logits a) - 2 * sum n (fun a => softmax n logits a * softmax n logits a * softmax n logits a) + (1 + 2 * sum n (fun a => softmax n logits a * softmax n logits a)) * covariance n (softmax n logits) logits (softmax n logits) - 3 * covariance n (softmax n logits) logits (fun a => softmax n logits a * softmax n logits a)) / 2.

(** S_ab/sqrt(S_aa S_bb), from S and its diagonal. *)
Definition scaled (n : nat) (covariance_ : nat -> nat -> R) (own : vector) : nat -> nat -> R :=
  fun a b => covariance_ a b / (sqrt (own a) * sqrt (own b)).

(** 1 - pi_a, summed over the other actions. *)
Definition rest (n : nat) (policy : vector) : vector :=
  fun a => sum n (fun b => if Nat.eqb a b then 0 else policy b).

(** w = sqrt(pi/(1 - pi)). *)
Definition odds_root (n : nat) (logits : vector) : vector :=
  fun a => sqrt (softmax n logits a / rest n (softmax n logits) a).

(** The second order under Adam's noise, from moments of pi and w. *)
Definition adam_effect (n : nat) (logits : vector) : R :=
  covariance n (softmax n logits) logits (fun a => odds_root n logits a * odds_root n logits a) - mean n (softmax n logits) (odds_root n logits) * covariance n (softmax n logits) logits (odds_root n logits) - (1 - covariance n (softmax n logits) (odds_root n logits) (odds_root n logits)) / 2.

Definition statement : Prop :=
  forall (n : nat) (logits : vector),
  (2 <= n)%nat ->
  noise_effect n logits (fun a b => if Nat.eqb a b then 1 else 0) = isotropic_effect n logits /\
  noise_effect n logits (score_covariance n logits) = score_effect n logits /\
  noise_effect n logits (scaled n (score_covariance n logits) (fun c => softmax n logits c * rest n (softmax n logits) c)) = adam_effect n logits.

Definition witness : Prop :=
  exists (n : nat) (logits : vector),
  (2 <= n)%nat.

Definition scaled_defined (n : nat) (covariance_ : nat -> nat -> R) (own : vector) (a : nat) (b : nat) : Prop :=
  0 <= own a /\
  0 <= own b /\
  sqrt (own a) * sqrt (own b) <> 0.

Definition odds_root_defined (n : nat) (logits : vector) (a : nat) : Prop :=
  rest n (softmax n logits) a <> 0 /\
  0 <= softmax n logits a / rest n (softmax n logits) a.

Definition adam_effect_defined (n : nat) (logits : vector) : Prop :=
  (forall a, (a < n)%nat -> odds_root_defined n logits a).

Definition defined : Prop :=
  forall (n : nat) (logits : vector),
  (2 <= n)%nat ->
  (forall a, (a < n)%nat -> forall b, (b < n)%nat -> scaled_defined n (score_covariance n logits) (fun c => softmax n logits c * rest n (softmax n logits) c) a b) /\
  adam_effect_defined n logits.
