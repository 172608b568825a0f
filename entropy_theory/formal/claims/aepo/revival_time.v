(** AEPO, Section 4.1 and Figure 2: a collapsed policy revives, after a time like e^{D/T}. On the solved face,
    for T > 1, each step lowers the lead of the likeliest answer over any other by at most
    2 eta (m - 1) e^{-D/T}, D its lead over the next. For two answers and eta <= 2 the number N of steps from
    the gap D to D_N obeys T/(2 eta) (V - V_N) <= N and N eta c(D_N) <= (T + eta)(V - V_N), V = e^{D/T}. *)

From Coq Require Import Reals Lra Lia.
From PolicyEntropy.library Require Import Definitions Basics TemperedReinforce Masks TwoAnswers Revival.
Open Scope R_scope.

Definition statement : Prop :=
  forall temperature learning_rate : R,
  1 < temperature -> 0 < learning_rate <= 2 ->
  let all := fun _ : nat => true in
  (forall (n : nat) (logits : vector) (top a : nat) (lead : R),
     (2 <= n)%nat -> (top < n)%nat -> (a < n)%nat ->
     (forall b, (b < n)%nat -> b <> top -> lead <= logits top - logits b) ->
     let after b := logits b + learning_rate * unit_step n logits all temperature b in
     (logits top - logits a) - (after top - after a)
     <= 2 * learning_rate * (INR n - 1) * exp (- lead / temperature))
  /\ (forall logits : nat -> vector,
        (forall k a, (a < 2)%nat ->
           logits (S k) a = logits k a + learning_rate * unit_step 2 (logits k) all temperature a) ->
        let gap k := logits k 0%nat - logits k 1%nat in
        0 <= gap 0%nat ->
        (forall k, gap (S k) = gap k - learning_rate * speed (gap k) temperature)
        /\ (forall N,
              0 <= gap N
              /\ temperature / (2 * learning_rate) * (exp (gap 0%nat / temperature) - exp (gap N / temperature))
                 <= INR N
              /\ INR N * (learning_rate * slowness (gap N) temperature)
                 <= (temperature + learning_rate) * (exp (gap 0%nat / temperature) - exp (gap N / temperature))
              /\ (0 < gap N ->
                  INR N <= (temperature + learning_rate) / (learning_rate * slowness (gap N) temperature)
                           * (exp (gap 0%nat / temperature) - exp (gap N / temperature)))
              /\ (forall D, D <= gap N -> 0 <= D -> slowness D temperature <= slowness (gap N) temperature))).

Theorem proved : statement.
Proof.
  intros temperature learning_rate hot (rate_pos & rate_small) all; split.
  - intros n logits top a lead two top_inside inside leads after.
    pose proof (lead_falls_slowly n logits temperature top lead top_inside ltac:(lra) leads a inside two) as slow.
    unfold after, all; apply Rmult_le_compat_l with (r := learning_rate) in slow; [|lra]; lra.
  - intros logits moves gap start.
    assert (forall k, gap (S k) = gap k - learning_rate * speed (gap k) temperature) as runs.
    { intros k; unfold gap; rewrite !moves by lia.
      exact (two_answer_motion (logits k) temperature learning_rate ltac:(lra)). }
    split; [exact runs|].
    intros N.
    pose proof (gap_nonneg temperature hot learning_rate rate_pos rate_small gap start runs N) as nonneg.
    pose proof (steps_at_most temperature hot learning_rate rate_pos rate_small gap start runs N) as most.
    repeat split.
    + exact nonneg.
    + exact (steps_at_least temperature hot learning_rate rate_pos rate_small gap start runs N).
    + exact most.
    + intros positive.
      assert (0 < slowness (gap N) temperature) as slow_pos.
      { apply Rmult_lt_0_compat; [apply speed_hot_pos; assumption|apply exp_pos]. }
      assert (0 < learning_rate * slowness (gap N) temperature) as pace by (apply Rmult_lt_0_compat; assumption).
      apply Rmult_le_reg_r with (learning_rate * slowness (gap N) temperature); [assumption|].
      apply Rle_trans with (1 := most); right; field; lra.
    + intros D below D_nonneg; apply slowness_increases; assumption.
Qed.
