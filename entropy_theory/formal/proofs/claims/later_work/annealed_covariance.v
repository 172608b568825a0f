(** Comparative theory of entropy control (arXiv 2604.09676), abstract, made precise for one state with rewards 0
    and 1, V the expected reward. Bonus: the only stationary policy softmax(r/lambda) of V + lambda H has a gap
    0 < 1 - V <= lambda log(n/m). Covariance penalty: for beta <= 1/(1 + log(n - 1)) the objective
    V - beta Cov(log pi, r) does not fall along the direction that raises all right logits, and it rises strictly
    if beta is smaller. *)

From Coq Require Import Reals Lra Lia List Bool FunctionalExtensionality.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Masks Calculus Contributions Divergence.
From PolicyEntropy.library Require Masks.
From Trusted.Statements.later_work Require annealed_covariance.
Open Scope R_scope.

Definition mean_within (n : nat) (z : vector) (A : mask) : R :=
  total_on n A (fun a => softmax n z a * z a) / total_on n A (softmax n z).

(** 1 - beta (1 + (1 - 2p) l). *)
Definition bracket (n : nat) (z : vector) (correct : mask) (beta : R) : R :=
  1 - beta * (1 + (1 - 2 * total_on n correct (softmax n z))
                  * (mean_within n z correct - mean_within n z (complement correct))).

(** 1 - V at softmax(r/lambda). *)
Definition bonus_gap (n : nat) (correct : mask) (coefficient : R) : R :=
  let wrong := INR n - count_on n correct in
  wrong * exp (- 1 / coefficient) / (wrong * exp (- 1 / coefficient) + count_on n correct).

(** * The policy within a set *)

Section Within.

Variables (n : nat) (z : vector) (A : mask).
Hypothesis some_inside : nonempty n A.

Let some : (0 < n)%nat.
Proof. destruct some_inside as [a [inside _]]; lia. Qed.
Let p := softmax n z.
Let mass := total_on n A p.
Let Z := sum n (fun b => exp (z b)).

Lemma mass_is_positive : 0 < mass.
Proof. apply total_on_pos; [exact some_inside|intros; apply softmax_pos, some]. Qed.

Lemma mean_within_eq : mass * mean_within n z A = total_on n A (fun a => p a * z a).
Proof. unfold mean_within; fold p; fold mass; pose proof mass_is_positive; field; lra. Qed.

Lemma log_mean_within :
  mass * (mean_within n z A - ln Z) = total_on n A (fun a => p a * ln (p a)).
Proof.
  rewrite Rmult_minus_distr_l, mean_within_eq; unfold mass.
  rewrite (Rmult_comm (total_on n A p)), <- total_on_scal, <- total_on_minus.
  apply total_on_ext; intros a _ _.
  replace (ln (p a)) with (z a - ln Z); [ring|].
  unfold p; fold (log_softmax n z a); rewrite log_softmax_eq by exact some; reflexivity.
Qed.

(** log(mass) - log(count) <= E[log pi | A] <= log(mass): the entropy within A is between 0 and log count. *)
Lemma log_mean_at_most : mean_within n z A - ln Z <= ln mass.
Proof.
  pose proof mass_is_positive as positive.
  apply (Rmult_le_reg_l mass); [exact positive|]; rewrite log_mean_within.
  rewrite (Rmult_comm mass); unfold mass at 2; rewrite <- total_on_scal.
  apply total_on_le; intros a inside member; rewrite (Rmult_comm (ln mass)).
  pose proof (softmax_pos n z a some) as above; fold p in above.
  apply Rmult_le_compat_l; [lra|]; apply ln_le_ln; [exact above|].
  unfold mass, total_on; apply Rle_trans with (only A p a).
  - unfold only; rewrite member; lra.
  - apply sum_ge_term; [|exact inside]; intros b _; unfold only.
    destruct (A b); [apply Rlt_le, softmax_pos, some|lra].
Qed.

Lemma log_mean_at_least : ln mass - ln (count_on n A) <= mean_within n z A - ln Z.
Proof.
  pose proof mass_is_positive as positive.
  pose proof (count_on_ge_1 n A some_inside) as count.
  apply (Rmult_le_reg_l mass); [exact positive|]; rewrite log_mean_within.
  assert (divergence : 0 <= total_on n A (fun a => p a * (ln (p a) - ln (mass / count_on n A)))).
  { apply (gibbs_on n A p (fun _ => mass / count_on n A)).
    - intros; apply softmax_pos, some.
    - intros; apply Rdiv_lt_0_compat; lra.
    - rewrite total_on_const; fold mass; right; field; lra. }
  rewrite (total_on_ext n A _ (fun a => p a * ln (p a) - ln (mass / count_on n A) * p a)) in divergence
    by (intros; ring).
  rewrite total_on_minus, total_on_scal, ln_div in divergence by lra; fold mass in divergence; lra.
Qed.

End Within.

(** * The covariance penalty *)

Section Penalty.

Variables (n : nat) (z : vector) (correct : mask).
Hypothesis (some_right : nonempty n correct) (some_wrong : nonempty n (complement correct)).

Let some : (0 < n)%nat.
Proof. destruct some_right as [a [inside _]]; lia. Qed.
Let right := total_on n correct (softmax n z).
Let wrong := total_on n (complement correct) (softmax n z).
Let l := mean_within n z correct - mean_within n z (complement correct).

Lemma masses : right + wrong = 1.
Proof. unfold right, wrong; rewrite total_on_complement; apply softmax_sum, some. Qed.

Lemma counts_at_most :
  1 <= INR n - 1 /\ count_on n correct <= INR n - 1 /\ count_on n (complement correct) <= INR n - 1.
Proof.
  pose proof (count_on_complement n correct).
  pose proof (count_on_ge_1 n correct some_right).
  pose proof (count_on_ge_1 n (complement correct) some_wrong); lra.
Qed.

Lemma bracket_bound : (1 - 2 * right) * l <= ln (INR n - 1).
Proof.
  pose proof masses as all.
  pose proof (mass_is_positive n z correct some_right) as right_positive; fold right in right_positive.
  pose proof (mass_is_positive n z (complement correct) some_wrong) as wrong_positive; fold wrong in wrong_positive.
  destruct counts_at_most as [n_least [right_count wrong_count]].
  pose proof (count_on_ge_1 n correct some_right) as right_least.
  pose proof (count_on_ge_1 n (complement correct) some_wrong) as wrong_least.
  pose proof (log_mean_at_most n z correct some_right) as right_up; fold right in right_up.
  pose proof (log_mean_at_least n z correct some_right) as right_low; fold right in right_low.
  pose proof (log_mean_at_most n z (complement correct) some_wrong) as wrong_up; fold wrong in wrong_up.
  pose proof (log_mean_at_least n z (complement correct) some_wrong) as wrong_low; fold wrong in wrong_low.
  assert (ln (count_on n correct) <= ln (INR n - 1)) by (apply ln_le_ln; lra).
  assert (ln (count_on n (complement correct)) <= ln (INR n - 1)) by (apply ln_le_ln; lra).
  assert (0 <= ln (INR n - 1)) as log_nonneg by (apply ln_nonneg; lra).
  destruct (Rle_dec right wrong) as [rare|likely].
  - assert (ln right <= ln wrong) by (apply ln_le_ln; assumption).
    assert (l <= ln (INR n - 1)) as bound by (unfold l; lra).
    apply Rle_trans with ((1 - 2 * right) * ln (INR n - 1)); [apply Rmult_le_compat_l; lra|].
    assert (0 <= 2 * right * ln (INR n - 1)) by (apply Rmult_le_pos; lra); lra.
  - assert (ln wrong <= ln right) by (apply ln_le_ln; lra).
    assert (- l <= ln (INR n - 1)) as bound by (unfold l; lra).
    replace ((1 - 2 * right) * l) with ((2 * right - 1) * - l) by ring.
    apply Rle_trans with ((2 * right - 1) * ln (INR n - 1)); [apply Rmult_le_compat_l; lra|].
    assert (0 <= 2 * wrong * ln (INR n - 1)) by (apply Rmult_le_pos; lra).
    replace (2 * right - 1) with (1 - 2 * wrong) by lra; lra.
Qed.

Lemma bracket_nonneg share :
  0 < share -> share <= 1 -> 0 <= bracket n z correct (share / (1 + ln (INR n - 1))).
Proof.
  intros positive small; pose proof bracket_bound as bound.
  destruct counts_at_most as [n_least _].
  assert (0 <= ln (INR n - 1)) by (apply ln_nonneg; lra).
  unfold bracket; fold right l.
  assert (0 < share / (1 + ln (INR n - 1))) by (apply Rdiv_lt_0_compat; lra).
  assert (share / (1 + ln (INR n - 1)) * (1 + (1 - 2 * right) * l)
          <= share / (1 + ln (INR n - 1)) * (1 + ln (INR n - 1))) by (apply Rmult_le_compat_l; lra).
  replace (share / (1 + ln (INR n - 1)) * (1 + ln (INR n - 1))) with share in * by (field; lra).
  lra.
Qed.

Lemma bracket_positive share :
  0 < share -> share < 1 -> 0 < bracket n z correct (share / (1 + ln (INR n - 1))).
Proof.
  intros positive small; pose proof bracket_bound as bound.
  destruct counts_at_most as [n_least _].
  assert (0 <= ln (INR n - 1)) by (apply ln_nonneg; lra).
  unfold bracket; fold right l.
  assert (0 < share / (1 + ln (INR n - 1))) by (apply Rdiv_lt_0_compat; lra).
  assert (share / (1 + ln (INR n - 1)) * (1 + (1 - 2 * right) * l)
          <= share / (1 + ln (INR n - 1)) * (1 + ln (INR n - 1))) by (apply Rmult_le_compat_l; lra).
  replace (share / (1 + ln (INR n - 1)) * (1 + ln (INR n - 1))) with share in * by (field; lra).
  lra.
Qed.

(** The objective's rate along the direction that raises all right logits is p (1 - p) times the bracket. *)
Let reward := only correct (fun _ => 1).

Lemma mean_of_reward p : mean n p reward = total_on n correct p.
Proof. unfold mean, total_on; apply sum_ext; intros a _; unfold reward, only; destruct (correct a); ring. Qed.

Lemma covariance_of_reward :
  covariance n (softmax n z) (log_softmax n z) reward = right * wrong * l.
Proof.
  pose proof (softmax_sum n z some) as one.
  rewrite covariance_log_softmax, covariance_eq, mean_of_reward by assumption; fold right.
  pose proof (mean_within_eq n z correct some_right) as right_mean; fold right in right_mean.
  pose proof (mean_within_eq n z (complement correct) some_wrong) as wrong_mean; fold wrong in wrong_mean.
  assert (product : mean n (softmax n z) (fun a => z a * reward a) = right * mean_within n z correct).
  { rewrite right_mean; unfold mean, total_on; apply sum_ext; intros a _; unfold reward, only.
    destruct (correct a); ring. }
  assert (whole : mean n (softmax n z) z
                  = right * mean_within n z correct + wrong * mean_within n z (complement correct)).
  { rewrite right_mean, wrong_mean, total_on_complement; reflexivity. }
  rewrite product, whole; unfold l; pose proof masses as all.
  replace wrong with (1 - right) by lra; ring.
Qed.

End Penalty.

Section Rate.

Variables (n : nat) (z : vector) (correct : mask) (beta : R).
Hypothesis (some_right : nonempty n correct) (some_wrong : nonempty n (complement correct)).

Let some : (0 < n)%nat.
Proof. destruct some_right as [a [inside _]]; lia. Qed.
Let reward := only correct (fun _ => 1).
Let along (t : R) : vector := fun a => z a + t * reward a.
Let objective (t : R) : R :=
  total_on n correct (softmax n (along t))
  - beta * covariance n (softmax n (along t)) (log_softmax n (along t)) reward.

Lemma start a : (a < n)%nat -> softmax n (along 0) a = softmax n z a.
Proof. intros inside; apply softmax_ext; [intros; unfold along; ring|exact inside]. Qed.

Lemma rate_of_objective :
  derivative objective 0
    (let p := total_on n correct (softmax n z) in p * (1 - p) * bracket n z correct beta).
Proof.
  apply derivative_of_is_derive.
  set (L := fun t a => log_softmax n (along t) a).
  assert (moves : forall a, (a < n)%nat -> is_derive (fun t => along t a) 0 (reward a))
    by (intros; apply is_derive_line).
  set (p0 := softmax n (along 0)).
  assert (one : sum n p0 = 1) by apply softmax_sum, some.
  assert (value : is_derive (fun t => mean n (softmax n (along t)) reward) 0 (covariance n p0 reward reward)).
  { evar_last.
    - apply (is_derive_mean n along reward 0 some moves (fun _ => reward) (fun _ => 0)).
      intros; apply @is_derive_const.
    - fold p0; rewrite mean_const by exact one; ring. }
  assert (log_mean : is_derive (fun t => mean n (softmax n (along t)) (L t)) 0
                       (covariance n p0 reward (L 0) + mean n p0 (centered n p0 reward))).
  { apply (is_derive_mean n along reward 0 some moves L (centered n p0 reward)).
    intros; apply is_derive_log_softmax; assumption. }
  assert (product : is_derive (fun t => mean n (softmax n (along t)) (fun a => L t a * reward a)) 0
                      (covariance n p0 reward (fun a => L 0 a * reward a)
                       + mean n p0 (fun a => centered n p0 reward a * reward a))).
  { apply (is_derive_mean n along reward 0 some moves (fun t a => L t a * reward a)
             (fun a => centered n p0 reward a * reward a)).
    intros a inside; rewrite (Rmult_comm (centered n p0 reward a)).
    apply is_derive_ext with (f := fun t => reward a * L t a); [intros; apply Rmult_comm|].
    apply (is_derive_scal (fun t => L t a) 0 (reward a)); apply is_derive_log_softmax; assumption. }
  apply is_derive_ext with (f := fun t =>
    mean n (softmax n (along t)) reward
    - beta * (mean n (softmax n (along t)) (fun a => L t a * reward a)
              - mean n (softmax n (along t)) (L t) * mean n (softmax n (along t)) reward)).
  { intros t; unfold objective.
    rewrite covariance_eq by apply softmax_sum, some.
    unfold reward at 1; rewrite mean_of_reward; reflexivity. }
  evar_last.
  - apply @is_derive_minus; [exact value|].
    apply is_derive_scal, @is_derive_minus; [exact product|].
    apply @is_derive_mult; [exact log_mean|exact value|intros; apply Rmult_comm].
  - cbv beta; fold p0; set (q := total_on n correct (softmax n z)).
    assert (q_start : mean n p0 reward = q).
    { unfold reward; rewrite mean_of_reward; apply total_on_ext; intros; apply start; assumption. }
    assert (variance : covariance n p0 reward reward = q - q * q).
    { rewrite covariance_eq, q_start by exact one.
      rewrite (mean_ext n p0 (fun a => reward a * reward a) reward); [rewrite q_start; reflexivity|].
      intros a _; unfold reward, only; destruct (correct a); ring. }
    set (m1 := mean n p0 (fun a => L 0 a * reward a)).
    set (m0 := mean n p0 (L 0)).
    assert (first : covariance n p0 reward (L 0) = m1 - q * m0).
    { rewrite covariance_eq, q_start by exact one; unfold m1, m0; f_equal.
      apply mean_ext; intros; ring. }
    assert (second : covariance n p0 reward (fun a => L 0 a * reward a) = m1 - q * m1).
    { rewrite covariance_eq, q_start by exact one; fold m1; f_equal.
      apply mean_ext; intros a _; unfold reward, only; destruct (correct a); ring. }
    assert (third : mean n p0 (fun a => centered n p0 reward a * reward a) = q - q * q).
    { rewrite <- covariance_centered_l by exact one; exact variance. }
    assert (fourth : mean n p0 (centered n p0 reward) = 0) by (apply mean_centered, one).
    rewrite variance, first, second, third, fourth, q_start; fold m1 m0.
    assert (cov : m1 - q * m0 = q * (1 - q) * (mean_within n z correct - mean_within n z (complement correct))).
    { pose proof (covariance_of_reward n z correct some_right some_wrong) as known; fold q in known.
      pose proof (masses n z correct some_right) as all; fold q in all.
      replace (total_on n (complement correct) (softmax n z)) with (1 - q) in known by lra.
      rewrite <- known, covariance_eq by apply softmax_sum, some.
      rewrite mean_of_reward; fold q; unfold m1, m0, L.
      assert (same : forall a, (a < n)%nat -> log_softmax n (along 0) a = log_softmax n z a)
        by (intros a inside; unfold log_softmax; rewrite start by exact inside; reflexivity).
      assert (forall f g, (forall a, (a < n)%nat -> f a = g a) -> mean n p0 f = mean n (softmax n z) g) as swap.
      { intros f g equal; apply sum_ext; intros a inside; unfold p0.
        rewrite start, equal by exact inside; reflexivity. }
      rewrite (swap _ (fun a => log_softmax n z a * reward a)) by (intros; rewrite same; auto).
      rewrite (swap _ (log_softmax n z)) by exact same; unfold reward; ring. }
    unfold bracket; fold q.
    unfold minus, plus, opp, scal, mult; simpl; unfold mult; simpl.
    set (l := mean_within n z correct - mean_within n z (complement correct)) in *.
    replace m1 with (q * (1 - q) * l + q * m0) by lra; ring.
Qed.

End Rate.

(** * The bonus *)

Section Bonus.

Variables (n : nat) (correct : mask) (coefficient : R).
Hypothesis (some_right : nonempty n correct) (some_wrong : nonempty n (complement correct)).
Hypothesis positive : 0 < coefficient.

Let m := count_on n correct.
Let wrong := INR n - m.
Let odds := exp (- 1 / coefficient).

Lemma wrong_at_least_one : 1 <= wrong.
Proof.
  pose proof (count_on_complement n correct); pose proof (count_on_ge_1 n _ some_wrong).
  unfold wrong, m; lra.
Qed.

Lemma right_at_least_one : 1 <= m.
Proof. apply count_on_ge_1, some_right. Qed.

Lemma gap_positive : 0 < bonus_gap n correct coefficient.
Proof.
  pose proof wrong_at_least_one; pose proof right_at_least_one; pose proof (exp_pos (- 1 / coefficient)).
  unfold bonus_gap; cbv zeta; fold m wrong odds.
  assert (0 < wrong * odds) by (apply Rmult_lt_0_compat; unfold odds; lra).
  apply Rdiv_lt_0_compat; lra.
Qed.

(** With g the gap: e^{g/lambda} <= 1 - g + g e^{1/lambda}, which is n over m + (n - m) e^{-1/lambda}. *)
Lemma gap_bound : bonus_gap n correct coefficient <= coefficient * ln (INR n / m).
Proof.
  pose proof wrong_at_least_one; pose proof right_at_least_one.
  assert (odds_positive : 0 < odds) by apply exp_pos.
  set (g := bonus_gap n correct coefficient).
  assert (form : g = wrong * odds / (wrong * odds + m)) by reflexivity.
  assert (0 < wrong * odds) as weight by (apply Rmult_lt_0_compat; lra).
  assert (g_bounds : 0 <= g <= 1).
  { split; [apply Rlt_le, gap_positive|]; rewrite form.
    apply (Rmult_le_reg_r (wrong * odds + m)); [lra|].
    replace (wrong * odds / (wrong * odds + m) * (wrong * odds + m)) with (wrong * odds) by (field; lra).
    lra. }
  pose proof (exp_below_chord g (1 / coefficient) (proj1 g_bounds) (proj2 g_bounds)) as chord.
  assert (inverse : odds * exp (1 / coefficient) = 1).
  { unfold odds; rewrite <- exp_plus.
    replace (- 1 / coefficient + 1 / coefficient) with 0 by (field; lra); apply exp_0. }
  assert (sum_eq : g * exp (1 / coefficient) + (1 - g) = INR n / (wrong * odds + m)).
  { rewrite form.
    replace (wrong * odds / (wrong * odds + m) * exp (1 / coefficient))
      with (wrong * (odds * exp (1 / coefficient)) / (wrong * odds + m)) by (field; lra).
    rewrite inverse; replace (INR n) with (wrong + m) by (unfold wrong; ring); field; lra. }
  assert (at_most : INR n / (wrong * odds + m) <= INR n / m).
  { apply Rmult_le_compat_l; [apply pos_INR|]; apply Rinv_le_contravar; lra. }
  assert (power : exp (g * (1 / coefficient)) <= INR n / m) by lra.
  apply ln_le_ln in power; [|apply exp_pos]; rewrite ln_exp in power.
  apply (Rmult_le_compat_l coefficient) in power; [|lra].
  replace (coefficient * (g * (1 / coefficient))) with g in power by (field; lra); exact power.
Qed.

End Bonus.

Lemma bonus_and_penalty :
  forall (n : nat) (logits : vector) (correct : mask) (share coefficient : R),
  nonempty n correct -> nonempty n (complement correct) ->
  0 < share -> share <= 1 -> 0 < coefficient ->
  let p := total_on n correct (softmax n logits) in
  let beta := share / (1 + ln (INR n - 1)) in
  let penalized z := total_on n correct (softmax n z)
    - beta * covariance n (softmax n z) (log_softmax n z) (only correct (fun _ => 1)) in
  0 <= bracket n logits correct beta
  /\ (share < 1 -> 0 < bracket n logits correct beta)
  /\ derivative (fun t => penalized (fun a => logits a + t * only correct (fun _ => 1) a)) 0
       (p * (1 - p) * bracket n logits correct beta)
  /\ 0 < bonus_gap n correct coefficient
  /\ bonus_gap n correct coefficient <= coefficient * ln (INR n / count_on n correct).
Proof.
  intros n logits correct share coefficient some_right some_wrong positive small coefficient_positive
    p beta penalized.
  split; [|split; [|split; [|split]]].
  - apply bracket_nonneg; assumption.
  - intros strict; apply bracket_positive; assumption.
  - apply (rate_of_objective n logits correct beta some_right some_wrong).
  - apply gap_positive; assumption.
  - apply gap_bound; assumption.
Qed.

Theorem proved : Statements.later_work.annealed_covariance.statement.
Proof.
  intros n logits correct share coefficient two some_right positive small coefficient_positive not_all.
  pose proof (Masks.some_wrong n correct not_all) as some_wrong.
  destruct (bonus_and_penalty n logits correct share coefficient some_right some_wrong positive small
              coefficient_positive) as [bracket_up [strict [rate [gap_up gap_small]]]].
  split; [split; [exact bracket_up|split; [apply Rlt_le; exact gap_up|exact gap_small]]|].
  split; [|split; [exact strict|exact gap_up]].
  apply derivative_ext with (2 := rate); intros t.
  replace (fun a => logits a + (if correct a then t else 0))
    with (fun a => logits a + t * only correct (fun _ => 1) a); [reflexivity|].
  apply functional_extensionality; intros a; unfold only; destruct (correct a); ring.
Qed.

From PolicyEntropy.library Require Import Witnesses LimitWitnesses Domains.

Theorem witness : Statements.later_work.annealed_covariance.witness.
Proof. exists 2%nat, (fun _ => 0), (fun a => Nat.eqb a 1), 1, 1; witnessed. Qed.

Theorem witness_1 : Statements.later_work.annealed_covariance.witness_1.
Proof. exists 2%nat, (fun _ => 0), (fun a => Nat.eqb a 1), (1 / 2), 1; limits_witnessed. Qed.

Theorem defined : Statements.later_work.annealed_covariance.defined.
Proof.
  intros n; intros; assert (2 <= INR n) by (apply (le_INR 2); lia).
  assert (0 <= ln (INR n - 1)).
  { destruct (Rle_lt_or_eq_dec 1 (INR n - 1)) as [more|<-]; [lra| |rewrite ln_1; lra].
    rewrite <- ln_1; apply Rlt_le, ln_increasing; lra. }
  domains.
Qed.
