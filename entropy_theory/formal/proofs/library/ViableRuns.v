(** Runs of exact tempered REINFORCE, with any nonnegative weight of the policy gradient beside it, on
    token trees: the probability of a right response tends to one, and the response entropy's limsup is
    at most the logarithm of the number of right responses. *)

From Coq Require Import Reals Lra Lia List Bool Classical.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Trees ViableTokens.
Import ListNotations.
Open Scope R_scope.

(** * Sequences *)

Lemma tends_to_0_sum n (u : nat -> nat -> R) :
  (forall a, (a < n)%nat -> tends_to (u a) 0) -> tends_to (fun k => sum n (fun a => u a k)) 0.
Proof.
  induction n as [|m IH]; intros each e positive.
  - exists 0%nat; intros k _; simpl; rewrite Rminus_0_r, Rabs_R0; exact positive.
  - destruct (IH (fun a inside => each a (Nat.lt_lt_succ_r _ _ inside)) (e / 2) ltac:(lra)) as (N & before).
    destruct (each m ltac:(lia) (e / 2) ltac:(lra)) as (M & last).
    exists (Nat.max N M); intros k late; simpl.
    specialize (before k ltac:(lia)); specialize (last k ltac:(lia)).
    rewrite Rminus_0_r in *; eapply Rle_lt_trans; [apply Rabs_triang|]; lra.
Qed.

Lemma natural_above x : exists j, x < INR j.
Proof.
  destruct (archimed (Rabs x)) as [large _]; exists (Z.to_nat (up (Rabs x))).
  pose proof (Rabs_pos x); pose proof (Rle_abs x).
  rewrite INR_IZR_INZ, Z2Nat.id; [lra|apply le_IZR; lra].
Qed.

(** A quantity D that never falls, and rises by at least x where x is at most B e^{-D}: x vanishes. *)
Lemma rises_vanish (D x : nat -> R) B :
  (forall k, 0 <= x k) -> (forall k, D k + x k <= D (S k)) -> (forall k, x k <= B * exp (- D k)) ->
  0 <= B -> tends_to x 0.
Proof.
  intros nonneg rises bounded B_nonneg e positive.
  assert (forall k j, (j <= k)%nat -> D j <= D k) as monotone.
  { intros k j before; induction before as [|k before IH]; [lra|].
    specialize (nonneg k); specialize (rises k); lra. }
  set (M := ln ((B + 1) / e)).
  assert (forall k, M < D k -> x k < e) as small.
  { intros k far; eapply Rle_lt_trans; [apply bounded|].
    apply Rle_lt_trans with ((B + 1) * exp (- D k));
      [apply Rmult_le_compat_r; [apply Rlt_le, exp_pos|lra]|].
    apply Rlt_le_trans with ((B + 1) * exp (- M)).
    - apply Rmult_lt_compat_l; [lra|]; apply exp_increasing; lra.
    - unfold M; rewrite exp_Ropp, exp_ln by (apply Rdiv_lt_0_compat; lra).
      apply Req_le; field; split; lra. }
  assert (forall j k, M < D k + INR j * e -> exists N, forall i, (N <= i)%nat -> x i < e) as finitely.
  { induction j as [|j IH]; intros k close.
    - exists k; intros i late; apply small; simpl in close.
      pose proof (monotone i k late); lra.
    - destruct (classic (forall i, (k <= i)%nat -> x i < e)) as [all|some]; [exists k; exact all|].
      apply not_all_ex_not in some; destruct some as (i & not_small).
      apply imply_to_and in not_small; destruct not_small as (late & not_small).
      apply (IH (S i)); rewrite S_INR in close.
      pose proof (monotone i k late); pose proof (rises i); lra. }
  destruct (natural_above ((M - D 0%nat) / e)) as (j & many).
  destruct (finitely j 0%nat) as (N & late).
  - assert ((M - D 0%nat) / e * e < INR j * e) by (apply Rmult_lt_compat_r; assumption).
    replace ((M - D 0%nat) / e * e) with (M - D 0%nat) in * by (field; lra); lra.
  - exists N; intros k later; rewrite Rminus_0_r, Rabs_pos_eq by apply nonneg; apply late, later.
Qed.

(** Finitely many positive lower bounds have a common one. *)
Lemma common_lower_bound n (chosen : mask) (value : nat -> nat -> R) :
  (forall a, (a < n)%nat -> chosen a = true -> exists c, 0 < c /\ forall k, c <= value a k) ->
  exists c, 0 < c /\ forall a, (a < n)%nat -> chosen a = true -> forall k, c <= value a k.
Proof.
  induction n as [|m IH]; intros each.
  - exists 1; split; [lra|]; intros; lia.
  - destruct IH as (c & c_positive & below); [intros; apply each; [lia|assumption]|].
    destruct (chosen m) eqn:kind.
    + destruct (each m ltac:(lia) kind) as (c' & c'_positive & last).
      exists (Rmin c c'); split; [apply Rmin_pos; assumption|]; intros a inside a_chosen k.
      destruct (Nat.eq_dec a m) as [->|other].
      * eapply Rle_trans; [apply Rmin_r|apply last].
      * eapply Rle_trans; [apply Rmin_l|apply below; [lia|assumption]].
    + exists c; split; [exact c_positive|]; intros a inside a_chosen k.
      apply below; [|exact a_chosen].
      destruct (Nat.eq_dec a m) as [->|other]; [congruence|lia].
Qed.

(** * Viable tokens at the root *)

Definition viable (n h : nat) (right : state -> bool) : mask :=
  fun a => less 0 (number_right n h (after a right)).

Lemma viable_true n h right a : viable n h right a = true -> 0 < number_right n h (after a right).
Proof. unfold viable, less; destruct (Rlt_dec _ _); [trivial|discriminate]. Qed.

Lemma viable_false n h right a : viable n h right a = false -> number_right n h (after a right) = 0.
Proof.
  unfold viable, less; destruct (Rlt_dec _ _) as [|none]; [discriminate|intros _].
  pose proof (number_right_nonneg n h (after a right)); lra.
Qed.

Lemma some_viable n h right : 0 < number_right n (S h) right -> nonempty n (viable n h right).
Proof.
  intros some; apply NNPP; intros none.
  assert (number_right n (S h) right = 0) as zero; [|lra].
  unfold number_right; simpl; rewrite <- (sum_zero n); apply sum_ext; intros a inside.
  apply (viable_false n h right a).
  destruct (viable n h right a) eqn:kind; [exfalso; apply none; exists a; split; assumption|reflexivity].
Qed.

Lemma success_viable n h z right :
  success n (S h) z right
  = total_on n (viable n h right) (fun a => softmax n (z []) a * success n h (after a z) (after a right)).
Proof.
  rewrite success_step; apply sum_ext; intros a _; unfold only.
  destruct (viable n h right a) eqn:kind; [reflexivity|].
  rewrite success_impossible by (apply viable_false, kind); ring.
Qed.

(** * The run *)

Definition follows (n h : nat) (right : state -> bool) (T e f : nat -> R) (z : nat -> policy) : Prop :=
  forall k s a, (length s < h)%nat -> List.Forall (fun b => (b < n)%nat) s -> (a < n)%nat ->
  z (S k) s a = z k s a + (e k * tempered_reinforce n h (T k) (z k) right s a
                           + f k * tempered_reinforce n h 1 (z k) right s a).

(** What happens below the token b is a run of its own, slowed by the probability of b. *)
Lemma follows_below n h right T e f z b :
  follows n (S h) right T e f z -> (b < n)%nat ->
  follows n h (after b right) T (fun k => e k * softmax n (tempered (T k) (z k [])) b)
    (fun k => f k * softmax n (tempered 1 (z k [])) b) (fun k => after b (z k)).
Proof.
  intros run inside k s a short tokens a_inside; unfold after at 1 2.
  rewrite (run k (b :: s) a); [|simpl; lia|constructor; assumption|exact a_inside].
  rewrite !reinforce_below; ring.
Qed.

Section Root.

Variables (n h : nat) (right : state -> bool) (T e f : nat -> R) (z : nat -> policy).
Hypothesis n_positive : (0 < n)%nat.
Hypothesis run : follows n (S h) right T e f z.
Hypothesis e_nonneg : forall k, 0 <= e k.
Hypothesis f_nonneg : forall k, 0 <= f k.
Hypothesis possible : 0 < number_right n (S h) right.

Notation V := (viable n h right).
Notation at_T k := (tempered_policy (T k) (z k)).
Notation at_1 k := (tempered_policy 1 (z k)).

Lemma viable_sum_rises k :
  total_on n V (z k []) <= total_on n V (z (S k) []).
Proof.
  assert (forall w, total_on n V (fun a => softmax n (tempered w (z k [])) a
      * success n h (after a (tempered_policy w (z k))) (after a right)
      - softmax n (z k []) a * success n (S h) (tempered_policy w (z k)) right)
    = (1 - total_on n V (softmax n (z k []))) * success n (S h) (tempered_policy w (z k)) right) as share.
  { intros w; set (W := success n (S h) (tempered_policy w (z k)) right).
    transitivity (total_on n V (fun a => softmax n (tempered w (z k [])) a
        * success n h (after a (tempered_policy w (z k))) (after a right))
      - total_on n V (softmax n (z k [])) * W).
    - unfold total_on; rewrite <- sum_scal_r, <- sum_minus; apply sum_ext; intros a _.
      unfold only; destruct (V a); ring.
    - rewrite Rmult_minus_distr_r, Rmult_1_l; f_equal; symmetry; apply success_viable. }
  assert (total_on n V (z (S k) []) = total_on n V (z k [])
    + (1 - total_on n V (softmax n (z k [])))
      * (e k * success n (S h) (at_T k) right + f k * success n (S h) (at_1 k) right)) as moved.
  { rewrite Rmult_plus_distr_l, <- !Rmult_assoc, !(Rmult_comm _ (e k)), !(Rmult_comm _ (f k)),
      !Rmult_assoc, <- !share; unfold total_on.
    rewrite <- !sum_scal, <- !sum_plus; apply sum_ext; intros a inside; unfold only.
    destruct (V a); [|ring].
    rewrite (run k [] a) by (simpl; first [lia|constructor|assumption]).
    rewrite !reinforce_root; reflexivity. }
  rewrite moved.
  assert (total_on n V (softmax n (z k [])) <= 1).
  { rewrite <- (softmax_sum n (z k []) n_positive); apply total_on_le_sum.
    intros; apply Rlt_le, softmax_pos, n_positive. }
  pose proof (success_range n (S h) (at_T k) right n_positive).
  pose proof (success_range n (S h) (at_1 k) right n_positive).
  assert (0 <= e k * success n (S h) (at_T k) right) by (apply Rmult_le_pos; [apply e_nonneg|lra]).
  assert (0 <= f k * success n (S h) (at_1 k) right) by (apply Rmult_le_pos; [apply f_nonneg|lra]).
  assert (0 <= (1 - total_on n V (softmax n (z k [])))
      * (e k * success n (S h) (at_T k) right + f k * success n (S h) (at_1 k) right))
    by (apply Rmult_le_pos; lra).
  lra.
Qed.

Lemma nonviable_falls k b :
  (b < n)%nat -> V b = false ->
  z (S k) [] b <= z k [] b - e k * success n (S h) (at_T k) right * softmax n (z k []) b.
Proof.
  intros inside kind.
  rewrite (run k [] b) by (simpl; first [lia|constructor|assumption]).
  rewrite !reinforce_root.
  rewrite (success_impossible n h (after b (at_T k))), (success_impossible n h (after b (at_1 k)))
    by (apply viable_false, kind).
  pose proof (success_range n (S h) (at_1 k) right n_positive) as range.
  pose proof (softmax_pos n (z k []) b n_positive).
  assert (0 <= f k * (softmax n (z k []) b * success n (S h) (at_1 k) right))
    by (apply Rmult_le_pos; [apply f_nonneg|apply Rmult_le_pos; lra]).
  lra.
Qed.

Lemma gap_grows k b :
  (b < n)%nat -> V b = false ->
  gap n (z k []) V b + e k * success n (S h) (at_T k) right * softmax n (z k []) b
  <= gap n (z (S k) []) V b.
Proof.
  intros inside kind; unfold gap.
  pose proof (count_viable_ge_1 n V (some_viable n h right possible)) as at_least_one.
  pose proof (nonviable_falls k b inside kind).
  assert (total_on n V (z k []) / count_on n V <= total_on n V (z (S k) []) / count_on n V).
  { unfold Rdiv; apply Rmult_le_compat_r;
      [apply Rlt_le, Rinv_0_lt_compat; lra|apply viable_sum_rises]. }
  lra.
Qed.

Lemma gap_from_start k b :
  (b < n)%nat -> V b = false -> gap n (z 0%nat []) V b <= gap n (z k []) V b.
Proof.
  intros inside kind; induction k as [|k IH]; [lra|].
  pose proof (gap_grows k b inside kind).
  pose proof (success_range n (S h) (at_T k) right n_positive).
  pose proof (softmax_pos n (z k []) b n_positive).
  assert (0 <= e k * success n (S h) (at_T k) right * softmax n (z k []) b)
    by (apply Rmult_le_pos; [apply Rmult_le_pos; [apply e_nonneg|lra]|lra]).
  lra.
Qed.

(** The viable tokens keep a share of the tempered probability. *)
Lemma viable_share_stays lowest :
  0 < lowest -> (forall k, lowest <= T k) ->
  exists c, 0 < c /\ forall k, c <= total_on n V (softmax n (tempered (T k) (z k []))).
Proof.
  intros positive above.
  set (C := sum n (fun b => exp (Rabs (gap n (z 0%nat []) V b) / lowest))).
  assert (0 <= C) as C_nonneg by (apply sum_nonneg; intros; apply Rlt_le, exp_pos).
  pose proof (pos_INR n).
  exists (/ (1 + INR n * C)); split.
  - apply Rinv_0_lt_compat; assert (0 <= INR n * C) by (apply Rmult_le_pos; assumption); lra.
  - intros k; apply viable_share;
      [exact n_positive|apply some_viable, possible|exact C_nonneg|].
    intros b inside kind; rewrite gap_tempered.
    eapply Rle_trans; [|apply (sum_ge_term n (fun b =>
      exp (Rabs (gap n (z 0%nat []) V b) / lowest)) b); [intros; apply Rlt_le, exp_pos|exact inside]].
    specialize (above k).
    assert (- (gap n (z k []) V b / T k) <= Rabs (gap n (z 0%nat []) V b) / lowest) as small.
    { pose proof (gap_from_start k b inside kind).
      pose proof (Rle_abs (- gap n (z 0%nat []) V b)) as bound; rewrite Rabs_Ropp in bound.
      apply Rle_trans with (Rabs (gap n (z 0%nat []) V b) / T k).
      - replace (- (gap n (z k []) V b / T k)) with (- gap n (z k []) V b / T k) by (field; lra).
        unfold Rdiv; apply Rmult_le_compat_r; [apply Rlt_le, Rinv_0_lt_compat; lra|lra].
      - unfold Rdiv; apply Rmult_le_compat_l; [apply Rabs_pos|].
        apply Rinv_le_contravar; lra. }
    destruct (Rle_lt_or_eq_dec _ _ small) as [less|same];
      [apply Rlt_le, exp_increasing, less|rewrite same; lra].
Qed.

(** A step's weight on a nonviable token vanishes. *)
Lemma nonviable_vanishes b bound c :
  (b < n)%nat -> V b = false -> (forall k, e k <= bound) ->
  0 < c -> (forall k, c <= success n (S h) (at_T k) right) ->
  tends_to (fun k => e k * softmax n (z k []) b) 0.
Proof.
  intros inside kind bounded c_positive stays.
  assert (0 <= bound) as bound_nonneg by (eapply Rle_trans; [apply (e_nonneg 0%nat)|apply bounded]).
  assert (tends_to (fun k => c * (e k * softmax n (z k []) b)) 0) as vanishes.
  { apply (rises_vanish (fun k => gap n (z k []) V b) _ (c * bound)).
    - intros k; pose proof (softmax_pos n (z k []) b n_positive).
      apply Rmult_le_pos; [lra|apply Rmult_le_pos; [apply e_nonneg|lra]].
    - intros k; eapply Rle_trans; [|apply (gap_grows k b inside kind)].
      apply Rplus_le_compat_l.
      pose proof (softmax_pos n (z k []) b n_positive).
      replace (c * (e k * softmax n (z k []) b)) with (e k * c * softmax n (z k []) b) by ring.
      apply Rmult_le_compat_r; [lra|]; apply Rmult_le_compat_l; [apply e_nonneg|apply stays].
    - intros k; rewrite Rmult_assoc; apply Rmult_le_compat_l; [lra|].
      apply Rmult_le_compat; [apply e_nonneg|apply Rlt_le, softmax_pos, n_positive|apply bounded|].
      apply softmax_below_gap; [apply some_viable, possible|exact n_positive].
    - apply Rmult_le_pos; lra. }
  intros err positive.
  destruct (vanishes (c * err)) as (N & late); [apply Rmult_lt_0_compat; assumption|].
  exists N; intros k later; specialize (late k later).
  rewrite Rminus_0_r in *; rewrite Rabs_mult, (Rabs_pos_eq c) in late by lra.
  apply Rmult_lt_reg_l with c; assumption.
Qed.

End Root.

(** * From the last token to the root *)

Section Tree.

Variables (n : nat) (T : nat -> R) (lowest : R).
Hypothesis n_positive : (0 < n)%nat.
Hypothesis lowest_positive : 0 < lowest.
Hypothesis above : forall k, lowest <= T k.

(** Sampling at temperature T keeps a chance of a right response. *)
Lemma success_stays h : forall right e f z,
  follows n h right T e f z -> (forall k, 0 <= e k) -> (forall k, 0 <= f k) ->
  0 < number_right n h right ->
  exists c, 0 < c /\ forall k, c <= success n h (tempered_policy (T k) (z k)) right.
Proof.
  induction h as [|h IH]; intros right e f z run e_nonneg f_nonneg possible.
  - unfold number_right in possible; simpl in possible.
    exists (indicator (right [])); split; [exact possible|].
    intros k; unfold success; simpl; lra.
  - destruct (viable_share_stays n h right T e f z n_positive run e_nonneg f_nonneg possible lowest
                lowest_positive above) as (share & share_positive & stays).
    destruct (common_lower_bound n (viable n h right)
      (fun a k => success n h (tempered_policy (T k) (after a (z k))) (after a right)))
      as (c & c_positive & below).
    { intros a inside kind.
      apply (IH (after a right) _ _ _ (follows_below n h right T e f z a run inside)).
      - intros k; apply Rmult_le_pos; [apply e_nonneg|apply Rlt_le, softmax_pos, n_positive].
      - intros k; apply Rmult_le_pos; [apply f_nonneg|apply Rlt_le, softmax_pos, n_positive].
      - apply viable_true, kind. }
    exists (share * c); split; [apply Rmult_lt_0_compat; assumption|]; intros k.
    rewrite success_viable.
    apply Rle_trans with (total_on n (viable n h right) (softmax n (tempered (T k) (z k []))) * c).
    + apply Rmult_le_compat_r; [lra|apply stays].
    + unfold total_on; rewrite <- sum_scal_r; apply sum_le; intros a inside; unfold only.
      destruct (viable n h right a) eqn:kind; [|lra].
      apply Rmult_le_compat_l; [apply Rlt_le, softmax_pos, n_positive|].
      apply (below a inside kind k).
Qed.

(** A weighted step that keeps vanishing where the token is drawn at T, with the weight of that draw,
    vanishes with the weight of the policy itself. *)
Lemma weight_of_policy (z : nat -> vector) (e y : nat -> R) a bound :
  (a < n)%nat -> (forall k, 0 <= e k <= bound) -> (forall k, 0 <= y k <= 1) ->
  tends_to (fun k => e k * softmax n (tempered (T k) (z k)) a * y k) 0 ->
  tends_to (fun k => softmax n (z k) a * (e k * y k)) 0.
Proof.
  intros inside weights shares vanishes err positive.
  assert (0 <= bound) by (pose proof (weights 0%nat); lra).
  set (d := err / (2 * (bound + 1))).
  assert (0 < d) as d_positive by (apply Rdiv_lt_0_compat; lra).
  assert (0 < INR n) as size by (apply lt_0_INR, n_positive).
  set (kept := exp (ln d / lowest) / INR n).
  assert (0 < kept) as kept_positive by (apply Rdiv_lt_0_compat; [apply exp_pos|exact size]).
  destruct (vanishes (kept * err)) as (N & late); [apply Rmult_lt_0_compat; assumption|].
  exists N; intros k later; specialize (late k later).
  specialize (weights k); specialize (shares k).
  pose proof (softmax_pos n (z k) a n_positive) as p_positive.
  pose proof (softmax_pos n (tempered (T k) (z k)) a n_positive) as q_positive.
  assert (0 <= e k * y k) as product by (apply Rmult_le_pos; lra).
  rewrite Rminus_0_r in *.
  rewrite Rabs_pos_eq by (apply Rmult_le_pos; lra).
  rewrite Rabs_pos_eq in late
    by (apply Rmult_le_pos; [apply Rmult_le_pos|]; lra).
  destruct (Rlt_le_dec (softmax n (z k) a) d) as [rare|kept_by_policy].
  - apply Rle_lt_trans with (d * (bound * 1)).
    + apply Rmult_le_compat; [lra|exact product|lra|apply Rmult_le_compat; lra].
    + apply Rle_lt_trans with (d * (bound + 1)); [apply Rmult_le_compat_l; lra|].
      replace (d * (bound + 1)) with (err / 2) by (unfold d; field; lra); lra.
  - pose proof (tempered_share n (z k) a d lowest (T k) inside d_positive kept_by_policy
                  lowest_positive (above k)) as share; fold kept in share.
    apply Rle_lt_trans with (1 * (e k * y k)).
    + apply Rmult_le_compat_r; [exact product|apply softmax_le_1, inside].
    + rewrite Rmult_1_l; apply Rmult_lt_reg_l with kept; [exact kept_positive|].
      eapply Rle_lt_trans; [|exact late].
      replace (e k * softmax n (tempered (T k) (z k)) a * y k)
        with (softmax n (tempered (T k) (z k)) a * (e k * y k)) by ring.
      apply Rmult_le_compat_r; assumption.
Qed.

(** The weight of a step times the probability of a wrong response vanishes. *)
Lemma failure_vanishes h : forall right e f z bound,
  follows n h right T e f z -> (forall k, 0 <= e k <= bound) -> (forall k, 0 <= f k) ->
  0 < number_right n h right ->
  tends_to (fun k => e k * (1 - success n h (z k) right)) 0.
Proof.
  induction h as [|h IH]; intros right e f z bound run weights f_nonneg possible.
  - intros err positive; exists 0%nat; intros k _.
    unfold number_right in possible; unfold success; simpl in *.
    unfold indicator in *; destruct (right []); [|lra].
    replace (e k * (1 - 1 * 1) - 0) with 0 by ring; rewrite Rabs_R0; exact positive.
  - assert (forall k, 0 <= e k) as e_nonneg by apply weights.
    destruct (success_stays (S h) right e f z run e_nonneg f_nonneg possible)
      as (c & c_positive & stays).
    assert (tends_to (fun k => sum n (fun a =>
      softmax n (z k []) a * (e k * (1 - success n h (after a (z k)) (after a right))))) 0) as parts.
    { apply (tends_to_0_sum n (fun a k =>
        softmax n (z k []) a * (e k * (1 - success n h (after a (z k)) (after a right))))).
      intros a inside; destruct (viable n h right a) eqn:kind.
      - apply (weight_of_policy (fun k => z k []) e
                 (fun k => 1 - success n h (after a (z k)) (after a right)) a bound inside weights).
        + intros k; pose proof (success_range n h (after a (z k)) (after a right) n_positive); lra.
        + apply (IH (after a right) _ _ _ bound (follows_below n h right T e f z a run inside)).
          * intros k; specialize (weights k).
            pose proof (softmax_pos n (tempered (T k) (z k [])) a n_positive).
            pose proof (softmax_le_1 n (tempered (T k) (z k [])) a inside).
            split; [apply Rmult_le_pos; lra|].
            rewrite <- (Rmult_1_r bound); apply Rmult_le_compat; lra.
          * intros k; apply Rmult_le_pos; [apply f_nonneg|apply Rlt_le, softmax_pos, n_positive].
          * apply viable_true, kind.
      - intros err positive.
        destruct (nonviable_vanishes n h right T e f z n_positive run e_nonneg f_nonneg possible a bound
                    c inside kind (fun k => proj2 (weights k)) c_positive stays err positive)
          as (N & late).
        exists N; intros k later; specialize (late k later); cbv beta in late |- *.
        rewrite success_impossible by (apply viable_false, kind).
        replace (softmax n (z k []) a * (e k * (1 - 0)) - 0)
          with (e k * softmax n (z k []) a - 0) by ring; exact late. }
    intros err positive; destruct (parts err positive) as (N & late).
    exists N; intros k later; specialize (late k later).
    replace (e k * (1 - success n (S h) (z k) right)) with (sum n (fun a =>
      softmax n (z k []) a * (e k * (1 - success n h (after a (z k)) (after a right))))); [exact late|].
    rewrite success_step, <- (softmax_sum n (z k []) n_positive) at 1.
    rewrite <- sum_minus, <- sum_scal; apply sum_ext; intros; ring.
Qed.

End Tree.

(** * Entropy of responses, most of which are right *)

Lemma entropy_term p q : 0 < p -> 0 < q -> - (p * ln p) <= - p * ln q + q - p.
Proof.
  intros p_positive q_positive.
  pose proof (exp_ineq1_le (ln (q / p))) as tangent.
  rewrite exp_ln in tangent by (apply Rdiv_lt_0_compat; assumption).
  rewrite ln_div in tangent by assumption.
  assert (p * (1 + (ln q - ln p)) <= p * (q / p)) as scaled
    by (apply Rmult_le_compat_l; lra).
  replace (p * (q / p)) with q in scaled by (field; lra); lra.
Qed.

(** Compared with the uniform law on the right responses, and a little of it on all of them. *)
Lemma response_entropy_bound n h z right d :
  (0 < n)%nat -> 0 < number_right n h right -> 0 < d ->
  let all := sum_responses n h (fun _ => 1) in
  response_entropy n h z <=
  ln (number_right n h right) + (1 - success n h z right) * (ln all - ln d - ln (number_right n h right)) + d.
Proof.
  intros n_positive some d_positive all.
  set (N := number_right n h right) in *.
  assert (N <= all) as at_most_all.
  { apply sum_responses_le; intros; apply indicator_range. }
  assert (response_entropy n h z <= sum_responses n h (fun y =>
      (ln N - ln all + ln d) * (probability n z y * indicator (right y))
      + ((ln all - ln d - 1) * probability n z y + (/ N * indicator (right y) + d / all * 1)))) as termwise.
  { unfold response_entropy.
    replace (- sum_responses n h (fun y => probability n z y * ln (probability n z y)))
      with (sum_responses n h (fun y => -1 * (probability n z y * ln (probability n z y))))
      by (rewrite sum_responses_scal; ring).
    apply sum_responses_le; intros y _.
    pose proof (probability_pos n z y n_positive) as positive.
    assert (0 < / N) by (apply Rinv_0_lt_compat; assumption).
    assert (0 < d / all) by (apply Rdiv_lt_0_compat; lra).
    destruct (right y); simpl.
    - pose proof (entropy_term (probability n z y) (/ N) positive ltac:(assumption)) as bound.
      rewrite ln_Rinv in bound by assumption; lra.
    - pose proof (entropy_term (probability n z y) (d / all) positive ltac:(assumption)) as bound.
      rewrite ln_div in bound by lra; lra. }
  eapply Rle_trans; [exact termwise|].
  rewrite !sum_responses_plus, !sum_responses_scal, probability_sum by exact n_positive.
  fold (success n h z right) (number_right n h right) N all.
  replace (/ N * N) with 1 by (field; lra).
  replace (d / all * all) with d by (field; lra).
  lra.
Qed.
