(** Prompts that share parameters, of which some direction raises each right logit over each wrong one: along exact
    policy gradient whose step sizes have no finite sum each prompt ends solved or lost, and none is lost if the
    mean reward starts above 1 - 1/N. *)

From Coq Require Import Reals Lra Lia FunctionalExtensionality.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Masks Curvature Gradients Concentration StepSizes SharedParameters.
Open Scope R_scope.

(** Values above zero have a lower bound above zero. *)
Lemma least_of_positive N (s : nat -> R) :
  (forall q, (q < N)%nat -> 0 < s q) -> exists least, 0 < least /\ forall q, (q < N)%nat -> least <= s q.
Proof.
  induction N as [|N IH]; intros positive; [exists 1; split; [lra|intros; lia]|].
  destruct IH as (least & least_pos & below); [intros; apply positive; lia|].
  exists (Rmin least (s N)); split; [apply Rmin_glb_lt; [assumption|apply positive; lia]|]; intros q inside.
  destruct (Nat.eq_dec q N) as [->|other]; [apply Rmin_r|].
  apply Rle_trans with least; [apply Rmin_l|apply below; lia].
Qed.

Lemma limsup_sum N (u : nat -> nat -> R) (l : nat -> R) :
  (forall q, (q < N)%nat -> limsup_at_most (u q) (l q)) ->
  limsup_at_most (fun k => sum N (fun q => u q k)) (sum N l).
Proof.
  induction N as [|N IH]; intros each e e_pos; [exists 0%nat; intros; simpl; lra|].
  destruct (IH (fun q inside => each q (Nat.lt_lt_succ_r _ _ inside)) (e / 2) ltac:(lra)) as (K & below).
  destruct (each N ltac:(lia) (e / 2) ltac:(lra)) as (M & last).
  exists (max K M); intros k later; simpl; specialize (below k ltac:(lia)); specialize (last k ltac:(lia)); lra.
Qed.

Lemma tends_to_0_below (u v : nat -> R) : (forall k, 0 <= u k <= v k) -> tends_to v 0 -> tends_to u 0.
Proof.
  intros between vanishes e e_pos; destruct (vanishes e e_pos) as (K & close); exists K; intros k later.
  specialize (close k later); specialize (between k).
  rewrite Rminus_0_r in *; rewrite Rabs_pos_eq in * by lra; lra.
Qed.

(** A variable that is at least lo on A and at most hi elsewhere varies with A. *)
Lemma covariance_with_set n p x A lo hi :
  sum n p = 1 -> (forall a, (a < n)%nat -> 0 <= p a) ->
  (forall a, (a < n)%nat -> A a = true -> lo <= x a) -> (forall a, (a < n)%nat -> A a = false -> x a <= hi) ->
  (lo - hi) * (total_on n A p * total_on n (complement A) p)
  <= covariance n p x (fun a => if A a then 1 else 0).
Proof.
  intros one nonneg right out.
  set (P := total_on n A p); set (Q := total_on n (complement A) p).
  assert (P + Q = 1) as both by (unfold P, Q; rewrite total_on_complement; exact one).
  assert (0 <= P /\ 0 <= Q) as (P_nonneg & Q_nonneg) by (split; apply total_on_nonneg; auto).
  set (right_part := total_on n A (fun a => p a * x a)).
  set (wrong_part := total_on n (complement A) (fun a => p a * x a)).
  assert (mean n p (fun a => if A a then 1 else 0) = P) as share.
  { apply sum_ext; intros a _; unfold only; destruct (A a); ring. }
  assert (mean n p (fun a => x a * (if A a then 1 else 0)) = right_part) as hit.
  { apply sum_ext; intros a _; unfold only; destruct (A a); ring. }
  assert (mean n p x = right_part + wrong_part) as whole
    by (unfold right_part, wrong_part; rewrite total_on_complement; reflexivity).
  rewrite covariance_eq, share, hit, whole by exact one.
  assert (lo * P <= right_part) as least.
  { unfold P; rewrite <- total_on_scal; apply total_on_le; intros a inside chosen.
    rewrite Rmult_comm; apply Rmult_le_compat_l; auto. }
  assert (wrong_part <= hi * Q) as most.
  { unfold Q; rewrite <- total_on_scal; apply total_on_le; intros a inside chosen; apply complement_true in chosen.
    rewrite (Rmult_comm hi); apply Rmult_le_compat_l; auto. }
  replace P with (1 - Q) in * by lra.
  assert (lo * (1 - Q) * Q <= right_part * Q) by (apply Rmult_le_compat_r; assumption).
  assert (wrong_part * (1 - Q) <= hi * Q * (1 - Q)) by (apply Rmult_le_compat_r; assumption).
  lra.
Qed.

Section Separable.

Variables (n prompts parameters : nat) (logits : nat -> nat -> R) (features : nat -> nat -> nat -> R)
  (correct : nat -> mask).
Hypothesis some : (0 < n)%nat.
Hypothesis some_prompts : (0 < prompts)%nat.
Hypothesis right_ones : forall q, (q < prompts)%nat -> nonempty n (correct q).

Definition hits (q : nat) : vector := fun a => if correct q a then 1 else 0.
Definition separation (v : nat -> R) (q : nat) : R :=
  smallest_on n (correct q) (motion parameters features v q)
  - largest_on n (complement (correct q)) (motion parameters features v q).

Local Notation policy theta q := (softmax n (shared_logits parameters logits features theta q)).
Local Notation J := (mean_reward n prompts parameters logits features hits).
Local Notation gradient := (reward_gradient n prompts parameters logits features hits).

Definition wrong (theta : nat -> R) (q : nat) : R := total_on n (complement (correct q)) (policy theta q).
Definition undecided (theta : nat -> R) (q : nat) : R := total_on n (correct q) (policy theta q) * wrong theta q.

Lemma hits_range q : (q < prompts)%nat -> forall a, (a < n)%nat -> 0 <= hits q a <= 1.
Proof. intros _ a _; unfold hits; destruct (correct q a); lra. Qed.

Lemma right_mass theta q : total_on n (correct q) (policy theta q) = 1 - wrong theta q.
Proof.
  pose proof (total_on_complement n (correct q) (policy theta q)) as both.
  rewrite softmax_sum in both by exact some; unfold wrong; lra.
Qed.

Lemma wrong_range theta q : 0 <= wrong theta q <= 1.
Proof.
  assert (forall A, 0 <= total_on n A (policy theta q)) as nonneg
    by (intros A; apply total_on_nonneg; intros; apply Rlt_le, softmax_pos, some).
  pose proof (right_mass theta q); pose proof (nonneg (correct q)); pose proof (nonneg (complement (correct q))).
  unfold wrong in *; lra.
Qed.

Lemma undecided_nonneg theta q : 0 <= undecided theta q.
Proof. pose proof (wrong_range theta q); unfold undecided; rewrite right_mass; apply Rmult_le_pos; lra. Qed.

(** <grad J, v> is at least mean_q s_q p_q (1 - p_q). *)
Lemma gradient_along theta v :
  sum prompts (fun q => separation v q * undecided theta q) / INR prompts
  <= sum parameters (fun m => gradient theta m * v m).
Proof.
  pose proof (prompts_pos prompts some_prompts) as many.
  rewrite <- slope_gradient by exact some; unfold slope, Rdiv.
  apply Rmult_le_compat_r; [apply Rlt_le, Rinv_0_lt_compat, many|]; apply sum_le; intros q inside.
  apply Rle_trans with (covariance n (policy theta q) (motion parameters features v q) (hits q)).
  - apply covariance_with_set; [apply softmax_sum, some|intros; apply Rlt_le, softmax_pos, some| |].
    + intros a a_inside chosen; apply smallest_on_le; assumption.
    + intros a a_inside out; apply largest_on_ge; [assumption|apply complement_true, out].
  - right; f_equal; f_equal; apply functional_extensionality; intros a; symmetry; apply line_start.
Qed.

Variables (rates : nat -> R) (start v : nat -> R).
Hypothesis rates_nonneg : forall k, 0 <= rates k.
Hypothesis rates_short : forall k q, (q < prompts)%nat -> forall a, (a < n)%nat ->
  rates k * square parameters (features q a) <= 1.
Hypothesis separated : forall q, (q < prompts)%nat -> 0 < separation v q.
Hypothesis endless : diverges rates.

Local Notation path := (gradient_run n prompts parameters logits features hits rates start).

(** Each prompt ends solved or lost. *)
Theorem undecided_vanishes : tends_to (fun k => sum prompts (undecided (path k))) 0.
Proof.
  pose proof (prompts_pos prompts some_prompts) as many.
  destruct (least_of_positive prompts (separation v) separated) as (least & least_pos & below).
  pose proof (gradient_vanishes n prompts parameters logits features hits some some_prompts hits_range rates start
                rates_nonneg rates_short endless) as vanishes.
  set (U := fun k => sum prompts (undecided (path k))).
  set (G := fun k => square parameters (gradient (path k))).
  change (tends_to G 0) in vanishes.
  assert (forall k, 0 <= U k) as U_nonneg by (intros k; apply sum_nonneg; intros; apply undecided_nonneg).
  assert (forall k, 0 <= G k) as G_nonneg by (intros k; apply square_nonneg).
  set (C := INR prompts / least * (INR prompts / least) * square parameters v).
  assert (0 <= INR prompts / least) as ratio_nonneg by (apply Rlt_le, Rdiv_lt_0_compat; assumption).
  assert (0 <= C) as C_nonneg.
  { apply Rmult_le_pos; [apply Rmult_le_pos; assumption|apply square_nonneg]. }
  assert (forall k, U k * U k <= C * G k) as bound.
  { intros k; set (along := sum parameters (fun m => gradient (path k) m * v m)).
    assert (U k <= INR prompts / least * along) as below_along.
    { apply Rmult_le_reg_l with (least / INR prompts); [apply Rdiv_lt_0_compat; assumption|].
      replace (least / INR prompts * (INR prompts / least * along)) with along by (field; lra).
      refine (Rle_trans _ _ _ _ (gradient_along (path k) v)); unfold U.
      replace (least / INR prompts * sum prompts (undecided (path k)))
        with (sum prompts (fun q => least * undecided (path k) q) / INR prompts) by (rewrite sum_scal; field; lra).
      apply Rmult_le_compat_r; [apply Rlt_le, Rinv_0_lt_compat, many|]; apply sum_le; intros q inside.
      apply Rmult_le_compat_r; [apply undecided_nonneg|apply below, inside]. }
    apply Rle_trans with (INR prompts / least * along * (INR prompts / least * along)).
    - apply Rmult_le_compat; auto.
    - pose proof (cauchy_schwarz parameters (gradient (path k)) v) as schwarz.
      fold along (square parameters (gradient (path k))) (square parameters v) (G k) in schwarz.
      replace (INR prompts / least * along * (INR prompts / least * along))
        with (INR prompts / least * (INR prompts / least) * (along * along)) by ring.
      replace (C * G k) with (INR prompts / least * (INR prompts / least) * (G k * square parameters v))
        by (unfold C; ring).
      apply Rmult_le_compat_l; [apply Rmult_le_pos; assumption|exact schwarz]. }
  intros e e_pos; destruct (vanishes (e * e / (C + 1))) as (K & close).
  { apply Rdiv_lt_0_compat; [apply Rmult_lt_0_compat|]; lra. }
  exists K; intros k later; specialize (close k later); specialize (bound k); specialize (U_nonneg k).
  specialize (G_nonneg k); rewrite Rminus_0_r in *; rewrite Rabs_pos_eq in close by assumption.
  fold (U k); rewrite Rabs_pos_eq by assumption.
  apply Rnot_le_lt; intros high.
  assert (e * e <= U k * U k) by (apply Rmult_le_compat; lra).
  assert ((C + 1) * G k < e * e); [|nra].
  apply Rmult_lt_compat_l with (r := C + 1) in close; [|lra].
  replace ((C + 1) * (e * e / (C + 1))) with (e * e) in close by (field; lra); exact close.
Qed.

(** * None is lost *)

Lemma missing theta : sum prompts (wrong theta) = INR prompts * (1 - J theta).
Proof.
  pose proof (prompts_pos prompts some_prompts) as many; unfold mean_reward.
  rewrite (sum_ext prompts (fun q => mean n (policy theta q) (hits q)) (fun q => 1 - wrong theta q)).
  - rewrite sum_minus, sum_const; field; lra.
  - intros q _; rewrite <- right_mass; apply sum_ext; intros a _; unfold hits, only; destruct (correct q a); ring.
Qed.

Hypothesis high : INR prompts * (1 - J start) < 1.

Lemma wrong_vanishes : tends_to (fun k => sum prompts (wrong (path k))) 0.
Proof.
  pose proof (prompts_pos prompts some_prompts) as many.
  set (s := INR prompts * (1 - J start)) in *.
  assert (forall k, 0 <= sum prompts (wrong (path k)) <= sum prompts (undecided (path k)) * / (1 - s)) as between.
  { intros k; split; [apply sum_nonneg; intros; apply wrong_range|].
    assert (sum prompts (wrong (path k)) <= s) as below.
    { rewrite missing; unfold s; apply Rmult_le_compat_l; [lra|].
      pose proof (run_never_falls n prompts parameters logits features hits some some_prompts hits_range rates start
                    rates_nonneg rates_short k); lra. }
    apply Rmult_le_reg_r with (1 - s); [lra|]; rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
    rewrite Rmult_comm, <- sum_scal; apply sum_le; intros q inside; unfold undecided.
    pose proof (wrong_range (path k) q); apply Rmult_le_compat_r; [lra|]; rewrite right_mass.
    pose proof (sum_ge_term prompts (wrong (path k)) q (fun r _ => proj1 (wrong_range (path k) r)) inside); lra. }
  apply (tends_to_0_below _ _ between).
  assert (0 < / (1 - s)) as factor by (apply Rinv_0_lt_compat; lra).
  intros e e_pos; destruct (undecided_vanishes (e * (1 - s))) as (K & close); [apply Rmult_lt_0_compat; lra|].
  exists K; intros k later; specialize (close k later); rewrite Rminus_0_r in *.
  rewrite Rabs_mult, (Rabs_pos_eq (/ (1 - s))) by lra.
  apply Rmult_lt_compat_r with (r := / (1 - s)) in close; [|exact factor].
  replace (e * (1 - s) * / (1 - s)) with e in close by (field; lra); exact close.
Qed.

Theorem mean_reward_tends_to_1 : tends_to (fun k => J (path k)) 1.
Proof.
  pose proof (prompts_pos prompts some_prompts) as many; intros e e_pos.
  destruct (wrong_vanishes (INR prompts * e)) as (K & close); [apply Rmult_lt_0_compat; assumption|].
  exists K; intros k later; specialize (close k later); rewrite missing, Rminus_0_r in close.
  rewrite Rabs_mult, (Rabs_pos_eq (INR prompts)) in close by lra.
  rewrite Rabs_minus_sym; apply Rmult_lt_reg_l with (INR prompts); assumption.
Qed.

Theorem limsup_entropies :
  limsup_at_most (fun k => sum prompts (fun q => entropy n (shared_logits parameters logits features (path k) q)))
    (sum prompts (fun q => ln (count_on n (correct q)))).
Proof.
  apply (limsup_sum prompts (fun q k => entropy n (shared_logits parameters logits features (path k) q))).
  intros q inside; apply limsup_of_mass; [apply right_ones, inside|].
  apply (tends_to_0_below _ (fun k => sum prompts (wrong (path k)))); [|exact wrong_vanishes]; intros k.
  split; [apply wrong_range|].
  apply (sum_ge_term prompts (wrong (path k)) q); [intros; apply wrong_range|exact inside].
Qed.

End Separable.
