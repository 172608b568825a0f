(** Extension: what a bonus on surprise among right answers costs under the plain gradient. The reward falls at
    the rate (1 - p) p^2 Cov_q(q, log q), between 0 and (1 - p) p^2 H(q), and stays only where right answers
    are equally likely or all answers are right. *)

From Coq Require Import Reals Lra Lia List Bool Classical.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Calculus Masks Clamping DiverseBonus.
From Trusted.Statements.extension Require diverse_bonus_price.
Open Scope R_scope.

Theorem proved : Statements.extension.diverse_bonus_price.repair.
Proof.
  intros n z A two members.
  set (mass := total_on n A (softmax n z)).
  set (q := conditional n z A).
  pose proof (mass_pos n z A members) as positive; fold mass in positive.
  pose proof (wrong_mass n z A members) as rest; fold mass in rest.
  assert (form : Statements.extension.diverse_bonus_price.reward_rate n z A
                 = - (1 - mass) * mass * mass * covariance n q q z) by (rewrite <- rest; reflexivity).
  assert (room : 0 <= 1 - mass).
  { rewrite <- rest; unfold total_on; apply sum_nonneg; intros a _; unfold only.
    destruct (negb (A a)); [apply Rlt_le, softmax_pos, (right_some n A members)|lra]. }
  pose proof (price_nonneg n z A members) as price; fold q in price.
  pose proof (price_at_most n z A members) as most; fold q in most.
  assert (weight : 0 <= (1 - mass) * mass * mass).
  { apply Rmult_le_pos; [apply Rmult_le_pos; lra|lra]. }
  split; [split|split].
  - rewrite form.
    assert (0 <= (1 - mass) * mass * mass * covariance n q q z) by (apply Rmult_le_pos; assumption).
    lra.
  - rewrite form.
    change (Statements.extension.diverse_bonus_price.right_mass n z (fun a => negb (A a)))
      with (total_on n (fun a => negb (A a)) (softmax n z)).
    change (Statements.extension.diverse_bonus_price.right_mass n z A) with mass.
    replace (Statements.extension.diverse_bonus_price.diversity n z A) with (clamped_entropy n z A)
      by (symmetry; apply (diversity_eq n z A members)).
    rewrite rest.
    assert ((1 - mass) * mass * mass * covariance n q q z
            <= (1 - mass) * mass * mass * clamped_entropy n z A) by (apply Rmult_le_compat_l; assumption).
    lra.
  - rewrite form.
    replace (- (1 - mass) * mass * mass * covariance n q q z)
      with ((1 - mass) * sum n (fun a => softmax n z a * (softmax n z a * surprise n z A a))).
    + apply (reward_slope n z A members (fun a => softmax n z a * surprise n z A a)).
      intros a outside; unfold surprise; rewrite outside; ring.
    + rewrite (weighted_surprise n z A members); fold mass q; ring.
  - rewrite form; intros zero.
    destruct (classic (forall a, (a < n)%nat -> A a = true)) as [all|some_wrong]; [right; exact all|left].
    assert (0 < 1 - mass).
    { rewrite <- rest; apply total_on_pos.
      - apply not_all_ex_not in some_wrong; destruct some_wrong as [b outside].
        apply imply_to_and in outside; destruct outside as [inside wrong].
        exists b; split; [exact inside|]; apply negb_true_iff, not_true_is_false, wrong.
      - intros; apply softmax_pos, (right_some n A members). }
    apply (price_zero n z A members); fold q.
    assert (0 < (1 - mass) * mass * mass) by (repeat apply Rmult_lt_0_compat; assumption).
    apply Rmult_eq_reg_l with ((1 - mass) * mass * mass); lra.
Qed.

From PolicyEntropy.library Require Import Witnesses LimitWitnesses Domains.

Theorem witness : Statements.extension.diverse_bonus_price.witness.
Proof. exists 2%nat, (fun _ => 0), (fun a => Nat.eqb a 1); witnessed. Qed.

Theorem witness_1 : Statements.extension.diverse_bonus_price.witness_1.
Proof. exists 2%nat, (fun _ => 0), (fun a => Nat.eqb a 1); limits_witnessed. Qed.

Theorem defined : Statements.extension.diverse_bonus_price.defined.
Proof. domains. Qed.
