(** Entropy Mechanism, abstract: "the values of covariance term and entropy differences matched exactly".

    They do not; exact, for every step and so for a policy-gradient step eta pi A, is

        H(pi') - H(pi) = -Cov_pi(pi'/pi, log pi) - KL(pi' || pi). *)

From Coq Require Import Reals Lra Lia.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import
  Basics TemperedReinforce Curvature CurvatureBounds EntropyChange.
From Trusted.Statements.entropy_mechanism Require matched_exactly.
Open Scope R_scope.

(** The identity for any step, written with w = pi'/pi. *)
Theorem for_every_step :
  forall (n : nat) (logits step : vector),
  (1 <= n)%nat ->
  let p := softmax n logits in
  let log_growth := fun a => log_softmax n (moved_by logits step) a - log_softmax n logits a in
  let growth := fun a => exp (log_growth a) in
  entropy n (moved_by logits step) - entropy n logits
  + covariance n p (log_softmax n logits) growth
  + mean n p (fun a => growth a * log_growth a) = 0.
Proof.
  intros n logits step some p log_growth growth.
  change (entropy n (moved_by logits step) - entropy n logits) with (entropy_change n logits step).
  change growth with (ratio n logits step); unfold p.
  rewrite exact_change_1, mean_ratio, covariance_sym by lia.
  unfold divergence, log_growth; ring.
Qed.

Theorem proved : Statements.entropy_mechanism.matched_exactly.repair.
Proof.
  intros n logits correct learning_rate many _ _; apply for_every_step; lia.
Qed.

From PolicyEntropy.library Require Import Witnesses.

Theorem witness : Statements.entropy_mechanism.matched_exactly.witness.
Proof. exists 2%nat, (fun _ => 0), (fun a => Nat.eqb a 1), 1; witnessed. Qed.
