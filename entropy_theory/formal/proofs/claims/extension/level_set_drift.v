(** Extension: how far a step of any size along an entropy level set leaves it. The first order of the entropy
    change is gone, and what remains is at most that of any step: (1/2)(5/8 + (1/5) log n) |d|^2. *)

From Coq Require Import Reals Lra Lia.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics EntropyChange.
From Trusted.Statements.extension Require level_set_drift.
Open Scope R_scope.

Theorem proved : Statements.extension.level_set_drift.statement.
Proof.
  intros n z reward size many _ _ _.
  set (h := entropy_gradient n z).
  set (g := Statements.extension.level_set_drift.reward_gradient n z reward).
  set (hh := sum n (fun b => h b * h b)); set (gh := sum n (fun b => g b * h b)).
  change (Statements.extension.level_set_drift.scaled_step n z reward) with (fun a => hh * g a - gh * h a).
  set (d := fun a => size * (hh * g a - gh * h a)).
  pose proof (first_order_error_sharp n z d ltac:(lia) ltac:(lia)) as error.
  assert (covariance n (softmax n z) (log_softmax n z) d = 0) as none.
  { rewrite covariance_centered_l by (apply softmax_sum; lia).
    assert (mean n (softmax n z) (fun a => centered n (softmax n z) (log_softmax n z) a * d a)
            = - sum n (fun a => h a * d a)) as along.
    { unfold mean; rewrite <- sum_opp; apply sum_ext; intros a _.
      unfold h, entropy_gradient, centered; rewrite entropy_log; ring. }
    rewrite along.
    assert (sum n (fun a => h a * d a) = size * (hh * gh - gh * hh)) as form.
    { transitivity (sum n (fun a => size * hh * (g a * h a) - size * gh * (h a * h a))).
      - apply sum_ext; intros a _; unfold d; ring.
      - rewrite sum_minus, !sum_scal; fold gh hh; ring. }
    rewrite form; ring. }
  rewrite none, Rplus_0_r in error.
  assert (forall x, (5 / 16 + ln (INR n) / 10) * x = (25 + 8 * ln (INR n)) / 40 * x / 2) as same
    by (intros; field).
  rewrite same in error; exact error.
Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.extension.level_set_drift.witness.
Proof. exists 3%nat, (fun _ => 0), (fun _ => 0), 1; witnessed. Qed.

Theorem defined : Statements.extension.level_set_drift.defined.
Proof. domains. Qed.
