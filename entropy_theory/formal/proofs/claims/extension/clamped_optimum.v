(** Extension of AEnt, section 4.1: for a policy whose kept set is one of its own top sets, of k tokens, the
    objective E[r] + lambda (entropy given the kept set) is at most lambda log(b e^{1/lambda} + k - b) with
    b = min(m, k), which its optimum approaches; and that optimum gives away no more than the full bonus's. *)

From Coq Require Import Reals Lra Lia List Bool.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Masks Contributions Divergence Clamping BonusBias
  Ranking.
From Trusted.Statements.extension Require clamped_optimum.
Open Scope R_scope.

Definition objective (n : nat) (z : vector) (correct kept : mask) (coefficient : R) : R :=
  let mass := total_on n kept (softmax n z) in
  total_on n correct (softmax n z)
  + coefficient * (ln mass
                   - total_on n kept (fun a => softmax n z a * log_softmax n z a) / mass).

Section OnePolicy.

Variables (n : nat) (z : vector) (correct kept : mask) (coefficient : R).
Hypothesis (some_kept : nonempty n kept) (positive : 0 < coefficient).
Hypothesis top : forall a b, (a < n)%nat -> (b < n)%nat -> kept a = true -> kept b = false -> z b <= z a.

Let p := softmax n z.
Let mass := total_on n kept p.
Let q := conditional n z kept.
Let m := count_on n correct.
Let k := count_on n kept.
Let kept_right := both kept correct.
Let kept_wrong := both kept (complement correct).
Let E := exp (1 / coefficient).

Lemma some_action : (0 < n)%nat.
Proof. destruct some_kept as [a [inside _]]; lia. Qed.

Lemma p_positive a : 0 < p a.
Proof. apply softmax_pos, some_action. Qed.

Lemma mass_above_zero : 0 < mass.
Proof. apply mass_positive, some_kept. Qed.

Lemma mass_at_most_one : mass <= 1.
Proof.
  rewrite <- (softmax_sum n z some_action); fold p; rewrite <- (total_on_complement n kept p).
  enough (0 <= total_on n (complement kept) p) by (unfold mass; lra).
  apply total_on_nonneg; intros; apply Rlt_le, p_positive.
Qed.

Lemma q_on_kept a : kept a = true -> p a = mass * q a.
Proof. apply softmax_on_kept, some_kept. Qed.

Lemma q_positive a : kept a = true -> 0 < q a.
Proof.
  intros member; pose proof (p_positive a) as above; rewrite (q_on_kept a member) in above.
  pose proof mass_above_zero.
  destruct (Rlt_dec 0 (q a)) as [|fails]; [assumption|].
  assert (0 <= mass * - q a) by (apply Rmult_le_pos; lra); lra.
Qed.

Lemma q_total : total_on n kept q = 1.
Proof.
  rewrite <- (conditional_total n z kept some_kept); apply sum_ext; intros a _; unfold only.
  destruct (kept a) eqn:member; [reflexivity|symmetry; apply (conditional_off_kept n z kept), member].
Qed.

Lemma objective_eq :
  objective n z correct kept coefficient
  = total_on n correct p - coefficient * total_on n kept (fun a => q a * ln (q a)).
Proof.
  unfold objective; fold p mass.
  assert (inner : total_on n kept (fun a => q a * ln (q a))
                  = total_on n kept (fun a => p a * log_softmax n z a) / mass - ln mass).
  { transitivity (total_on n kept (fun a => / mass * (p a * log_softmax n z a) - ln mass * q a)).
    - apply total_on_ext; intros a _ member; unfold log_softmax; fold p.
      pose proof mass_above_zero; pose proof (q_positive a member).
      rewrite (q_on_kept a member), ln_mult by assumption; field; lra.
    - rewrite total_on_minus, !total_on_scal, q_total; unfold Rdiv; ring. }
  rewrite inner; ring.
Qed.

(** The least likely kept token. *)
Let least := smallest_on n kept q.

Lemma least_nonneg : 0 <= least.
Proof.
  unfold least; destruct (smallest_on_attained n kept q some_kept) as [c [_ [member attained]]].
  rewrite attained; apply Rlt_le, q_positive, member.
Qed.

Lemma removed_below a : (a < n)%nat -> kept a = false -> p a <= mass * least.
Proof.
  intros inside removed; unfold least.
  destruct (smallest_on_attained n kept q some_kept) as [c [c_inside [member attained]]].
  rewrite attained, <- (q_on_kept c member).
  apply softmax_le; [exact some_action|apply top; assumption].
Qed.

Lemma right_split : m = count_on n kept_right + count_on n (both correct (complement kept)).
Proof.
  transitivity (count_on n (both correct kept) + count_on n (both correct (complement kept))).
  - apply total_on_both.
  - f_equal; apply total_on_both_comm.
Qed.

(** If no more tokens are right than kept: a right token outside has at most the probability of a wrong one
    inside, of which a share is paid for it. *)
Lemma value_at_most :
  total_on n correct p
  <= total_on n kept_right q + (m - count_on n kept_right) * least.
Proof.
  rewrite (total_on_both n correct kept p).
  assert (inside : total_on n (both correct kept) p = mass * total_on n kept_right q).
  { rewrite total_on_both_comm, <- total_on_scal; apply total_on_ext; intros a _ member.
    apply in_both in member as [kept_too _]; apply q_on_kept, kept_too. }
  assert (outside : total_on n (both correct (complement kept)) p
                    <= (m - count_on n kept_right) * (mass * least)).
  { assert (count : m - count_on n kept_right = count_on n (both correct (complement kept)))
      by (rewrite right_split; ring).
    rewrite count, <- total_on_const; apply total_on_le; intros a a_inside member.
    apply in_both in member as [_ removed]; apply complement_true in removed.
    apply removed_below; assumption. }
  assert (gap : 0 <= m - count_on n kept_right).
  { rewrite right_split; pose proof (count_on_nonneg n (both correct (complement kept))); lra. }
  assert (0 <= total_on n kept_right q).
  { apply total_on_nonneg; intros a _ member; apply in_both in member as [kept_too _].
    apply Rlt_le, q_positive, kept_too. }
  assert (0 <= (m - count_on n kept_right) * least) by (apply Rmult_le_pos; [exact gap|exact least_nonneg]).
  pose proof mass_at_most_one; pose proof mass_above_zero.
  rewrite inside.
  apply Rle_trans with (mass * (total_on n kept_right q + (m - count_on n kept_right) * least)); [lra|].
  rewrite <- (Rmult_1_l (total_on n kept_right q + (m - count_on n kept_right) * least)) at 2.
  apply Rmult_le_compat_r; lra.
Qed.

Lemma best_if_few : m <= k -> objective n z correct kept coefficient
                              <= coefficient * ln (m * E + k - m).
Proof.
  intros few; rewrite objective_eq.
  set (inside := count_on n kept_right).
  assert (k_split : k = inside + count_on n kept_wrong) by apply total_on_both.
  assert (inside_at_most : inside <= m).
  { unfold inside; rewrite right_split.
    pose proof (count_on_nonneg n (both correct (complement kept))); lra. }
  pose proof (count_on_nonneg n kept_wrong) as wrong_nonneg.
  set (share := (m - inside) / count_on n kept_wrong).
  assert (share_product : share * count_on n kept_wrong = m - inside).
  { unfold share; destruct wrong_nonneg as [some|none]; [field; lra|].
    rewrite <- none; unfold Rdiv; lra. }
  assert (share_bounds : 0 <= share <= 1).
  { destruct wrong_nonneg as [some|none].
    - split.
      + apply (Rmult_le_reg_r (count_on n kept_wrong)); [exact some|lra].
      + apply (Rmult_le_reg_r (count_on n kept_wrong)); [exact some|lra].
    - unfold share; rewrite <- none; unfold Rdiv; rewrite Rinv_0; lra. }
  (* The reference reward: 1 for right tokens, a share of it for wrong ones. *)
  set (s := fun a => (if correct a then 1 else share) / coefficient).
  pose proof (soft_value_on n kept q s some_kept (fun a _ member => q_positive a member) q_total) as soft.
  assert (mean_s : coefficient * total_on n kept (fun a => q a * s a)
                   = total_on n kept_right q + share * total_on n kept_wrong q).
  { rewrite <- total_on_scal, (total_on_both n kept correct); f_equal.
    - apply total_on_ext; intros a _ member; apply in_both in member as [_ right].
      unfold s; rewrite right; field; lra.
    - rewrite <- total_on_scal; apply total_on_ext; intros a _ member.
      apply in_both in member as [_ wrong]; apply complement_true in wrong.
      unfold s; rewrite wrong; field; lra. }
  assert (normalizer : total_on n kept (fun a => exp (s a)) <= m * E + k - m).
  { rewrite (total_on_both n kept correct).
    assert (right_part : total_on n (both kept correct) (fun a => exp (s a)) = inside * E).
    { unfold inside; rewrite <- total_on_const; apply total_on_ext; intros a _ member.
      apply in_both in member as [_ right]; unfold s, E; rewrite right; reflexivity. }
    assert (wrong_part : total_on n (both kept (complement correct)) (fun a => exp (s a))
                         <= count_on n kept_wrong * (share * E + (1 - share))).
    { rewrite <- total_on_const; apply total_on_le; intros a _ member.
      apply in_both in member as [_ wrong]; apply complement_true in wrong; unfold s; rewrite wrong.
      replace (share / coefficient) with (share * (1 / coefficient)) by (field; lra).
      apply exp_below_chord; lra. }
    rewrite right_part.
    replace (m * E + k - m) with (inside * E + (m - inside) * E + (k - inside) - (m - inside)) by ring.
    rewrite <- share_product at 1 2; lra. }
  assert (paid : (m - inside) * least <= share * total_on n kept_wrong q).
  { rewrite <- share_product, Rmult_assoc; apply Rmult_le_compat_l; [lra|].
    rewrite <- total_on_const; apply total_on_le; intros a a_inside member.
    apply in_both in member as [kept_too _]; apply smallest_on_le; assumption. }
  assert (log_bound : ln (total_on n kept (fun a => exp (s a))) <= ln (m * E + k - m)).
  { apply ln_le_ln; [|exact normalizer].
    apply total_on_pos; [exact some_kept|intros; apply exp_pos]. }
  pose proof value_at_most as value; fold inside in value.
  apply (Rmult_le_compat_l coefficient) in soft; [|lra].
  apply (Rmult_le_compat_l coefficient) in log_bound; [|lra].
  lra.
Qed.

Lemma best_if_many : objective n z correct kept coefficient <= coefficient * ln (k * E).
Proof.
  rewrite objective_eq.
  pose proof (soft_value_on n kept q (fun _ => 1 / coefficient) some_kept
                (fun a _ member => q_positive a member) q_total) as soft.
  cbv beta in soft; rewrite (total_on_const n kept (exp (1 / coefficient))) in soft; fold k E in soft.
  assert (mean_s : total_on n kept (fun a => q a * (1 / coefficient)) = 1 / coefficient).
  { rewrite (total_on_ext n kept _ (fun a => 1 / coefficient * q a)) by (intros; ring).
    rewrite total_on_scal, q_total; ring. }
  rewrite mean_s in soft.
  assert (total_on n correct p <= 1).
  { rewrite <- (softmax_sum n z some_action); fold p; rewrite <- (total_on_complement n correct p).
    enough (0 <= total_on n (complement correct) p) by lra.
    apply total_on_nonneg; intros; apply Rlt_le, p_positive. }
  apply (Rmult_le_compat_l coefficient) in soft; [|lra].
  replace (coefficient * (1 / coefficient - total_on n kept (fun a => q a * ln (q a))))
    with (1 - coefficient * total_on n kept (fun a => q a * ln (q a))) in soft by (field; lra).
  lra.
Qed.

End OnePolicy.

Lemma optimum_of_clamped :
  forall (n : nat) (logits : vector) (correct kept : mask) (coefficient : R),
  nonempty n correct -> nonempty n kept -> 0 < coefficient ->
  (forall a b, (a < n)%nat -> (b < n)%nat -> kept a = true -> kept b = false -> logits b <= logits a) ->
  let tokens := INR n in
  let m := count_on n correct in
  let k := count_on n kept in
  let right := Rmin m k in
  objective n logits correct kept coefficient
  <= coefficient * ln (right * exp (1 / coefficient) + k - right)
  /\ bias k right coefficient <= bias tokens m coefficient.
Proof.
  intros n logits correct kept coefficient some_right some_kept positive top tokens m k right.
  pose proof (count_on_ge_1 n correct some_right) as m_least; fold m in m_least.
  pose proof (count_on_ge_1 n kept some_kept) as k_least; fold k in k_least.
  assert (m_most : m <= tokens) by apply count_on_at_most.
  assert (k_most : k <= tokens) by apply count_on_at_most.
  split.
  - unfold right; destruct (Rle_dec m k) as [few|many].
    + rewrite Rmin_left by exact few; apply best_if_few; assumption.
    + rewrite Rmin_right by lra.
      replace (k * exp (1 / coefficient) + k - k) with (k * exp (1 / coefficient)) by ring.
      apply best_if_many; assumption.
  - assert (0 <= right) by (unfold right; apply Rmin_glb; lra).
    apply less_biased_iff_denser; try lra; [apply Rmin_r|].
    unfold right; destruct (Rle_dec m k) as [few|many].
    + rewrite Rmin_left by exact few; apply Rmult_le_compat_l; lra.
    + rewrite Rmin_right by lra; rewrite Rmult_comm; apply Rmult_le_compat_l; lra.
Qed.

Theorem proved : Statements.extension.clamped_optimum.statement.
Proof.
  intros n logits correct coefficient removed two some_right positive _ small.
  pose proof (Ranking.some_kept n logits removed ltac:(lia) small) as some_left.
  apply (optimum_of_clamped n logits correct (kept_tokens n logits removed) coefficient
           some_right some_left positive).
  intros a b _ _; apply kept_is_top.
Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.extension.clamped_optimum.witness.
Proof. exists 2%nat, (fun _ => 0), (fun a => Nat.eqb a 1), 1, (1 / 2); witnessed. Qed.

Theorem defined : Statements.extension.clamped_optimum.defined.
Proof.
  intros n logits correct coefficient removed two some positive _ small.
  pose proof (Ranking.some_kept n logits removed ltac:(lia) small) as kept.
  pose proof (count_on_pos n correct some); pose proof (count_on_pos n _ kept); unfold count_on in *.
  assert (forall m k E, 0 < m -> 0 < k -> 0 < E -> 0 < Rmin m k * E + k - Rmin m k) as mixed.
  { intros m k E m_pos k_pos E_pos; replace (Rmin m k * E + k - Rmin m k) with (Rmin m k * E + (k - Rmin m k)) by ring.
    apply mixture_pos; [apply Rlt_le, Rmin_pos; assumption|apply Rmin_r|exact k_pos|exact E_pos]. }
  assert (0 < total_on n (kept_tokens n logits removed) (softmax n logits))
    by (apply total_on_pos; [exact kept|intros; apply softmax_pos; lia]).
  domains. all: first
    [ apply mixed; [assumption|assumption|apply exp_pos]
    | apply nonzero_of_pos, mixture_pos;
      first [assumption | apply exp_pos | apply count_on_at_most | apply Rmin_r | apply lt_0_INR; lia | lra
            | apply Rlt_le, Rmin_pos; assumption] ].
Qed.
