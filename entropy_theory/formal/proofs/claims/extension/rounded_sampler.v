(** Extension of AEPO, Theorem 4.3: a sampler within eps of every log-probability moves the first order of entropy by at
    most half of e^eps - 1, times the largest advantage and E|log pi + H|. *)

From Coq Require Import Reals Lra Lia.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Masks Curvature EntropyChange SamplerMismatch.
From Trusted.Statements.extension Require rounded_sampler.
Open Scope R_scope.

Theorem proved : Statements.extension.rounded_sampler.statement.
Proof.
  intros n z s A two; assert (0 < n)%nat as some by lia; split.
  - change (Statements.extension.rounded_sampler.surprise_spread n z) with (spread n z).
    set (p := softmax n z); set (mu := softmax n (fun b => z b + s b)).
    set (g := fun a => log_softmax n (moved_by z s) a - log_softmax n z a).
    assert (forall a, p a * exp (g a) = mu a) as ratio.
    { intros a; unfold g, log_softmax, p; rewrite <- (exp_ln (softmax n z a)) at 1 by apply softmax_pos, some.
      rewrite <- exp_plus, Rplus_minus; apply exp_ln, softmax_pos, some. }
    assert (mean n mu A = mean n p (fun b => exp (g b) * A b)) as means
      by (apply sum_ext; intros b _; rewrite <- (ratio b); ring).
    assert (Statements.extension.rounded_sampler.sampled_fall n z s A
            = covariance n p z (fun a => p a * centered n p (fun b => exp (g b) * A b) a)) as ->.
    { apply covariance_ext; [reflexivity|]; intros a _.
      unfold Statements.extension.rounded_sampler.sampled_step; fold p.
      change (softmax n (fun c => z c + s c)) with mu; change (softmax n (fun b => z b + s b) a) with (mu a).
      rewrite means, <- (ratio a); unfold centered; ring. }
    change (Statements.extension.rounded_sampler.fall n z A)
      with (covariance n p z (fun a => p a * centered n p A a)).
    unfold p; rewrite fall_weighted by exact some.
    set (B := largest n (fun a => Rabs (A a))); set (e := Statements.extension.rounded_sampler.farthest n z s).
    pose proof (bias_by_largest n z some (fun a => (exp (g a) - 1) * A a) ((exp e - 1) * B)) as bias.
    specialize (bias ltac:(intros a inside; cbv beta; rewrite Rabs_mult; apply Rmult_le_compat; try apply Rabs_pos;
      [apply exp_near_one, (largest_ge n (fun b => Rabs (g b))), inside
      |apply (largest_ge n (fun b => Rabs (A b))), inside])).
    destruct (both_signs _ _ bias); repeat split; try assumption; apply spread_by_entropy, some.
  - set (d := Statements.extension.rounded_sampler.sampled_step n z s A).
    apply is_derive_Reals; evar_last; [apply (is_derive_entropy_along_line n z d some)|].
    unfold Statements.extension.rounded_sampler.sampled_fall; fold d; f_equal.
    rewrite covariance_log_softmax by (exact some || apply softmax_sum, some).
    transitivity (covariance n (softmax n (line z d 0)) z d).
    + apply covariance_ext; intros a _; unfold line; ring.
    + apply covariance_ext_p; intros; apply softmax_ext; [intros; apply line_start|assumption].
Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.extension.rounded_sampler.witness.
Proof. exists 2%nat, (fun _ => 0), (fun _ => 0), (fun _ => 0); witnessed. Qed.
