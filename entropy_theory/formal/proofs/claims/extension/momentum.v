(** Heavy-ball momentum where no gradient comes: the logits go on along the velocity, and entropy falls all the way if
    that is in the order of the logits. *)

From Coq Require Import Reals Lra Lia.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Masks Monotone Curvature EntropyChange OneLikely.
From Trusted.Statements.extension Require momentum.
Open Scope R_scope.

Section Coasting.

Variables (n : nat) (z m : vector) (eta beta : R).
Hypothesis some : (0 < n)%nat.
Hypothesis eta_nonneg : 0 <= eta.
Hypothesis beta_range : 0 <= beta < 1.
Hypothesis agree : 0 <= smallest n (fun a => smallest n (fun b => (m a - m b) * (z a - z b))).

Let step (j : nat) (parts : vector * vector) : vector * vector :=
  let (z, z2) := parts in ((fun b => z b + eta * (beta * z2 b)), (fun b => beta * z2 b)).
Let far : R := eta * beta / (1 - beta).
Let distance (k : nat) : R := far * (1 - beta ^ k).

Lemma where_it_is k a :
  fst (run step (z, m) k) a = line z m (distance k) a /\ snd (run step (z, m) k) a = beta ^ k * m a.
Proof.
  induction k as [|j [place speed]]; [unfold line, distance; simpl; split; ring|].
  change (run step (z, m) (S j)) with (step j (run step (z, m) j)).
  destruct (run step (z, m) j) as [x v]; unfold step; simpl in *.
  rewrite place, speed; unfold line, distance, far; simpl; split; [field; lra|ring].
Qed.

Lemma entropy_there k : entropy n (fst (run step (z, m) k)) = entropy n (line z m (distance k)).
Proof. apply entropy_ext; intros a _; apply where_it_is. Qed.

Lemma slope t :
  is_derive (fun s => entropy n (line z m s)) t (- covariance n (softmax n (line z m t)) (line z m t) m).
Proof.
  evar_last; [apply (is_derive_entropy_along_line n z m some)|]; simpl; f_equal.
  apply covariance_log_softmax; [exact some|apply softmax_sum, some].
Qed.

Lemma falls s t : 0 <= s <= t -> entropy n (line z m t) <= entropy n (line z m s).
Proof.
  intros order; apply Ropp_le_cancel.
  apply (nondecreasing_by_slope (fun r => - entropy n (line z m r))
           (fun r => covariance n (softmax n (line z m r)) (line z m r) m)); [lra| |].
  - intros r _; evar_last; [apply @is_derive_opp, slope|unfold opp; simpl; ring].
  - intros r inside; apply covariance_nonneg_ordered; [apply softmax_sum, some|intros; apply Rlt_le, softmax_pos, some|].
    intros a b a_inside b_inside.
    pose proof (smallest_le n (fun a => smallest n (fun b => (m a - m b) * (z a - z b))) a a_inside) as outer.
    pose proof (smallest_le n (fun b => (m a - m b) * (z a - z b)) b b_inside) as inner; simpl in outer, inner.
    pose proof (Rle_0_sqr (m a - m b)) as square; unfold Rsqr in square; unfold line.
    assert (0 <= r * ((m a - m b) * (m a - m b))) by (apply Rmult_le_pos; lra); lra.
Qed.

Lemma far_nonneg : 0 <= far.
Proof. apply Rmult_le_pos; [nra|apply Rlt_le, Rinv_0_lt_compat; lra]. Qed.

Lemma no_step_raises k :
  entropy n (fst (run step (z, m) (S k))) <= entropy n (fst (run step (z, m) k)).
Proof.
  rewrite !entropy_there; apply falls; unfold distance.
  pose proof far_nonneg; pose proof (pow_le beta k (proj1 beta_range)).
  assert (beta ^ k <= 1) by (rewrite <- (pow1 k); apply pow_incr; lra).
  simpl; split; [apply Rmult_le_pos; lra|apply Rmult_le_compat_l; nra].
Qed.

Lemma limit :
  tends_to (fun k => entropy n (fst (run step (z, m) k))) (entropy n (fun a => z a + far * m a)).
Proof.
  apply tends_to_limit.
  apply (is_lim_seq_ext (fun k => entropy n (line z m (distance k)))); [intros; symmetry; apply entropy_there|].
  change (entropy n (fun a => z a + far * m a)) with ((fun t => entropy n (line z m t)) far).
  apply (is_lim_seq_continuous (fun t => entropy n (line z m t))).
  - apply continuity_pt_filterlim, (ex_derive_continuous (V := R_NormedModule)); eexists; apply slope.
  - unfold distance; replace far with (far * (1 - 0)) at 1 by ring.
    apply (is_lim_seq_scal_l _ far (1 - 0)), is_lim_seq_minus'; [apply is_lim_seq_const|].
    apply is_lim_seq_geom; rewrite Rabs_pos_eq; lra.
Qed.

End Coasting.

Theorem proved : Statements.extension.momentum.repair.
Proof.
  intros n z m eta beta two eta_nonneg low high agree; assert (0 < n)%nat as some by lia.
  pose proof (no_step_raises n z m eta beta some eta_nonneg (conj low high) agree) as falls.
  split; [|split; [exact falls|apply limit; assumption || split; assumption]].
  pose proof (falls 0%nat); pose proof (falls 1%nat); simpl in *; lra.
Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.extension.momentum.witness.
Proof. exists 2%nat, (fun _ => 0), (fun _ => 0), 0, 0; witnessed. Qed.

Theorem defined : Statements.extension.momentum.defined.
Proof. domains. Qed.
