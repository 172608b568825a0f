(** Entropy split over two groups of actions, such as the right and the wrong ones.

    With R the probability of the first group, of m among n actions,

      h(R) <= H <= h(R) + R log m + (1 - R) log(n - m),

    and the right-hand side increases in 1 - R up to (n - m)/n, where it is log n. *)

From Coq Require Import Reals Lra Lia List Bool.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Masks.
Open Scope R_scope.

(** * Logarithms *)

Lemma ln_le_minus_1 x : 0 < x -> ln x <= x - 1.
Proof.
  intros positive.
  destruct (Req_dec x 1) as [->|other]; [rewrite ln_1; lra|].
  pose proof (exp_ineq1_le (ln x)) as above; rewrite exp_ln in above by assumption; lra.
Qed.

Lemma ln_nondecreasing x y : 0 < x -> x <= y -> ln x <= ln y.
Proof.
  intros positive below; destruct (Rle_lt_or_eq_dec _ _ below) as [strict| ->]; [|lra].
  apply Rlt_le, ln_increasing; assumption.
Qed.

Lemma ln_nonneg x : 1 <= x -> 0 <= ln x.
Proof. intros above; rewrite <- ln_1; apply ln_nondecreasing; lra. Qed.

Lemma ln_nonpos x : 0 < x -> x <= 1 -> ln x <= 0.
Proof. intros positive below; rewrite <- ln_1; apply ln_nondecreasing; lra. Qed.

(** Gibbs' inequality for one term. *)
Lemma gibbs_term x y : 0 < x -> 0 < y -> x * (ln y - ln x) <= y - x.
Proof.
  intros x_pos y_pos.
  pose proof (Rdiv_lt_0_compat _ _ y_pos x_pos) as ratio_pos.
  pose proof (ln_le_minus_1 _ ratio_pos) as below.
  rewrite ln_div in below by assumption.
  apply Rle_trans with (x * (y / x - 1)); [apply Rmult_le_compat_l; lra|].
  right; field; lra.
Qed.

(** - q log q is small for small q. *)
Lemma entropy_part_small q : 0 < q -> - (q * ln q) <= 2 * sqrt q.
Proof.
  intros positive.
  pose proof (sqrt_lt_R0 q positive) as root_pos.
  assert (ln q = - 2 * ln (/ sqrt q)) as halved.
  { rewrite ln_Rinv by assumption.
    rewrite <- (sqrt_sqrt q) at 1 by lra; rewrite ln_mult by assumption; ring. }
  pose proof (ln_le_minus_1 (/ sqrt q) (Rinv_0_lt_compat _ root_pos)) as below.
  rewrite halved.
  apply Rle_trans with (2 * q * / sqrt q).
  - replace (- (q * (-2 * ln (/ sqrt q)))) with (2 * q * ln (/ sqrt q)) by ring.
    apply Rmult_le_compat_l; lra.
  - right; rewrite <- (sqrt_sqrt q) at 1 by lra; field; lra.
Qed.

(** * The parts of entropy *)

(** - sum over a group of p log p. *)
Definition group_part (n : nat) (p : vector) (A : mask) : R :=
  - total_on n A (fun a => p a * ln (p a)).

Lemma entropy_of_groups n z A :
  entropy n z = group_part n (softmax n z) A + group_part n (softmax n z) (complement A).
Proof.
  unfold entropy, group_part.
  rewrite <- (total_on_complement n A (fun a => softmax n z a * ln (softmax n z a))); ring.
Qed.

Section Group.

Variables (n : nat) (p : vector) (A : mask).
Hypothesis some : nonempty n A.
Hypothesis positive : forall a, (a < n)%nat -> 0 < p a.

Lemma group_total_pos : 0 < total_on n A p.
Proof. apply total_on_pos; auto. Qed.

Lemma group_part_above :
  - (total_on n A p * ln (total_on n A p)) <= group_part n p A.
Proof.
  unfold group_part; apply Ropp_le_contravar.
  rewrite <- total_on_scal_r; apply total_on_le; intros a inside chosen.
  apply Rmult_le_compat_l; [apply Rlt_le; auto|].
  apply ln_nondecreasing; [auto|].
  apply total_on_ge_term; auto; intros; apply Rlt_le; auto.
Qed.

Lemma group_part_below :
  group_part n p A <= total_on n A p * (ln (count_on n A) - ln (total_on n A p)).
Proof.
  pose proof group_total_pos as total_pos; pose proof (count_on_pos n A some) as count_pos.
  set (level := total_on n A p / count_on n A).
  assert (0 < level) as level_pos by (apply Rdiv_lt_0_compat; assumption).
  assert (total_on n A (fun a => p a * (ln level - ln (p a))) <= 0) as gibbs.
  { apply Rle_trans with (total_on n A (fun a => level - p a)).
    - apply total_on_le; intros; apply gibbs_term; auto.
    - rewrite total_on_minus, total_on_const; unfold level; right; field; lra. }
  rewrite (total_on_ext n A _ (fun a => p a * ln level - p a * ln (p a))) in gibbs
    by (intros; ring).
  rewrite total_on_minus, total_on_scal_r in gibbs.
  assert (ln level = ln (total_on n A p) - ln (count_on n A)) as log_level
    by (apply ln_div; assumption).
  rewrite log_level in gibbs; unfold group_part; lra.
Qed.

End Group.

(** * Entropy at a given performance *)

(** log m + h(q) + q log((n - m)/m) with q the probability of the wrong actions, written for k = n - m:
    h(R) + R log m + (1 - R) log(n - m) at R = 1 - q. *)
Definition widest_entropy (m k q : R) : R :=
  ln m - q * ln q - (1 - q) * ln (1 - q) + q * ln (k / m).

Lemma widest_entropy_small m k q :
  0 < q -> q < 1 -> widest_entropy m k q <= ln m + 2 * sqrt q + q + q * Rabs (ln (k / m)).
Proof.
  intros q_pos q_small; unfold widest_entropy.
  pose proof (entropy_part_small q q_pos) as first.
  assert (- ((1 - q) * ln (1 - q)) <= q) as second.
  { pose proof (gibbs_term (1 - q) 1 ltac:(lra) ltac:(lra)) as gibbs.
    rewrite ln_1 in gibbs; lra. }
  assert (q * ln (k / m) <= q * Rabs (ln (k / m))) as third
    by (apply Rmult_le_compat_l; [lra|apply Rle_abs]).
  lra.
Qed.

(** It increases up to k/(m + k). *)
Lemma widest_entropy_increases m k q e :
  0 < m -> 0 < k -> 0 < q -> q <= e -> e * (m + k) <= k ->
  widest_entropy m k q <= widest_entropy m k e.
Proof.
  intros m_pos k_pos q_pos below e_small.
  assert (e < 1) as e_below.
  { apply Rmult_lt_reg_r with (m + k); lra. }
  pose proof (gibbs_term q e q_pos ltac:(lra)) as first.
  pose proof (gibbs_term (1 - q) (1 - e) ltac:(lra) ltac:(lra)) as second.
  assert (ln (e * m) <= ln ((1 - e) * k)) as slope.
  { apply ln_nondecreasing; [apply Rmult_lt_0_compat; lra|lra]. }
  rewrite !ln_mult in slope by lra.
  unfold widest_entropy; rewrite ln_div by assumption.
  assert (0 <= (e - q) * (ln (1 - e) + ln k - (ln e + ln m))) as gain
    by (apply Rmult_le_pos; lra).
  lra.
Qed.

Section Two_groups.

Variables (n : nat) (z : vector) (A : mask).
Hypothesis some : nonempty n A.
Hypothesis wrong : nonempty n (complement A).

Let p := softmax n z.
Let right_mass := total_on n A p.
Let wrong_mass := total_on n (complement A) p.

Lemma masses_sum : right_mass + wrong_mass = 1.
Proof.
  unfold right_mass, wrong_mass, p; rewrite total_on_complement.
  apply softmax_sum, (nonempty_inhabited n A some).
Qed.

Lemma softmax_positive a : (a < n)%nat -> 0 < p a.
Proof. intros _; apply softmax_pos, (nonempty_inhabited n A some). Qed.

Lemma right_mass_pos : 0 < right_mass.
Proof. exact (group_total_pos n p A some softmax_positive). Qed.

Lemma wrong_mass_pos : 0 < wrong_mass.
Proof. exact (group_total_pos n p (complement A) wrong softmax_positive). Qed.

(** h(R) <= H *)
Lemma entropy_at_least_binary : - (right_mass * ln right_mass) - wrong_mass * ln wrong_mass <= entropy n z.
Proof.
  rewrite (entropy_of_groups n z A).
  pose proof (group_part_above n p A softmax_positive).
  pose proof (group_part_above n p (complement A) softmax_positive).
  unfold right_mass, wrong_mass, p in *; lra.
Qed.

(** H <= h(R) + R log m + (1 - R) log(n - m) *)
Lemma entropy_at_most_widest :
  entropy n z <=
  - (right_mass * ln right_mass) - wrong_mass * ln wrong_mass
  + (right_mass * ln (count_on n A) + wrong_mass * ln (count_on n (complement A))).
Proof.
  rewrite (entropy_of_groups n z A).
  pose proof (group_part_below n p A some softmax_positive).
  pose proof (group_part_below n p (complement A) wrong softmax_positive).
  unfold right_mass, wrong_mass, p in *; lra.
Qed.

Lemma entropy_at_most_widest_entropy :
  entropy n z <= widest_entropy (count_on n A) (count_on n (complement A)) wrong_mass.
Proof.
  pose proof entropy_at_most_widest as bound.
  pose proof masses_sum as one.
  unfold widest_entropy; rewrite ln_div by (apply count_on_pos; assumption).
  replace (1 - wrong_mass) with right_mass by lra.
  replace right_mass with (1 - wrong_mass) in bound at 3 by lra; lra.
Qed.

End Two_groups.

(** Entropy is at most log n. *)
Lemma entropy_at_most_log n z : (0 < n)%nat -> entropy n z <= ln (INR n).
Proof.
  intros some.
  pose proof (group_part_below n (softmax n z) (fun _ => true) (all_nonempty n some)
                (fun a _ => softmax_pos n z a some)) as bound.
  assert (total_on n (fun _ => true) (softmax n z) = 1) as one
    by (rewrite total_on_everything by (intros a _; reflexivity); apply softmax_sum, some).
  assert (count_on n (fun _ => true) = INR n) as count.
  { unfold count_on; rewrite total_on_everything by (intros a _; reflexivity).
    rewrite sum_const; ring. }
  rewrite one, count, ln_1 in bound.
  unfold group_part in bound; rewrite total_on_everything in bound by (intros a _; reflexivity).
  unfold entropy; lra.
Qed.

Lemma entropy_nonneg n z : (0 < n)%nat -> 0 <= entropy n z.
Proof.
  intros some; unfold entropy.
  rewrite <- sum_opp; apply sum_nonneg; intros a inside.
  rewrite Ropp_mult_distr_r; apply Rmult_le_pos; [apply Rlt_le, softmax_pos, some|].
  pose proof (ln_nonpos _ (softmax_pos n z a some) (softmax_le_1 n z a inside)); lra.
Qed.
