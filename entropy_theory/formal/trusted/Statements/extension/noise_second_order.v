(* Generated from the formula of the claim extension.noise-second-order (Extension of Entropy Mechanism, Lemma 1 (noise of mean zero)). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** -(1/2) E[(1 + log pi + H)(C_aa - 2 (C pi)_a + pi' C pi)]. *)
Definition noise_effect (n : nat) (logits : vector) (covariance_ : nat -> nat -> R) : R :=
  - mean n (softmax n logits) (fun a => (1 + centered n (softmax n logits) logits a) * (sum n (fun b => (if Nat.eqb a b then 1 else 0) * covariance_ a b) - 2 * sum n (fun b => covariance_ a b * softmax n logits b) + mean n (softmax n logits) (fun b => sum n (fun c => covariance_ b c * softmax n logits c)))) / 2.

(** C_ab = sum_k mu_k d_ka d_kb, mu = softmax(sampler), where ``noise`` has d_ka at [a, k]. *)
Definition noise_covariance (n : nat) (sampler : vector) (noise : nat -> nat -> R) : nat -> nat -> R :=
  fun a b => sum n (fun c => softmax n sampler c * (noise a c * noise b c)).

Definition statement : Prop :=
  forall (n : nat) (logits : vector) (sampler : vector) (noise : nat -> nat -> R),
  (2 <= n)%nat ->
  Rabs (mean n (softmax n sampler) (fun a => (entropy_change n (fun b => logits b) (fun b => noise b a) + entropy_change n (fun b => logits b) (fun b => - noise b a)) / 2) - noise_effect n logits (noise_covariance n sampler noise)) <= mean n (softmax n sampler) (fun a => (largest n (fun b => noise b a) - smallest n (fun b => noise b a)) * (largest n (fun b => noise b a) - smallest n (fun b => noise b a)) * (largest n (fun b => noise b a) - smallest n (fun b => noise b a))) * (2 + 7 * ln (INR n)) / 24.

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (sampler : vector) (noise : nat -> nat -> R),
  (2 <= n)%nat.

Definition defined : Prop :=
  forall (n : nat) (logits : vector) (sampler : vector) (noise : nat -> nat -> R),
  (2 <= n)%nat ->
  0 < INR n.
