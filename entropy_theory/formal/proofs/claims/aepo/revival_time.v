(** AEPO, Section 4.1 and Figure 2: a collapsed policy revives, after a time like e^{D/T}. On the solved face,
    for T > 1, each step lowers the lead of the likeliest answer over any other by at most
    2 eta W, W = sum_{a <> 1} e^{-(z_1 - z_a)/T}, so by 2 eta (m - 1) e^{-D/T} with D its lead over the next. For two answers and eta <= 2 the number N of steps from
    the gap D to D_N obeys T/(2 eta) (V - V_N) <= N and N eta c(D_N) <= (T + eta)(V - V_N), V = e^{D/T}. *)

From Coq Require Import Reals Lra Lia.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics TemperedReinforce Masks TwoAnswers Revival StatementForms.
From Trusted.Statements.aepo Require revival_time.
Open Scope R_scope.

Theorem time_of_two_answers :
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

Theorem proved : Statements.aepo.revival_time.statement.
Proof.
  intros n logits temperature learning_rate two hot rate_pos rate_small.
  set (start := Statements.aepo.revival_time.gaps_below_top n logits).
  assert (forall a, (a < n)%nat -> 0 <= start a) as start_nonneg.
  { intros a inside; pose proof (largest_ge n logits a inside).
    unfold start, Statements.aepo.revival_time.gaps_below_top; lra. }
  assert (forall gaps a, Statements.aepo.revival_time.speeds n gaps temperature a = speed (gaps a) temperature)
    as speeds by (intros; apply speed_form; lra).
  assert (forall gaps a, Statements.aepo.revival_time.after_step n gaps temperature learning_rate a
            = gaps a - learning_rate * speed (gaps a) temperature) as steps.
  { intros; unfold Statements.aepo.revival_time.after_step; rewrite speeds; reflexivity. }
  assert (forall gaps a, Statements.aepo.revival_time.slownesses n gaps temperature a
            = slowness (gaps a) temperature) as slow.
  { intros; unfold Statements.aepo.revival_time.slownesses; rewrite speeds; reflexivity. }
  set (path := run (fun _ gaps => Statements.aepo.revival_time.after_step n gaps temperature learning_rate) start).
  assert (forall a k, path (S k) a = path k a - learning_rate * speed (path k a) temperature) as runs.
  { intros a k; change (path (S k)) with
      (Statements.aepo.revival_time.after_step n (path k) temperature learning_rate); apply steps. }
  assert (forall a N, (a < n)%nat ->
            0 <= path N a
            /\ temperature / (2 * learning_rate) * (exp (start a / temperature) - exp (path N a / temperature))
               <= INR N
            /\ INR N * (learning_rate * slowness (path N a) temperature)
               <= (temperature + learning_rate) * (exp (start a / temperature) - exp (path N a / temperature)))
    as bounds.
  { intros a N inside; specialize (start_nonneg a inside).
    pose proof (gap_nonneg temperature hot learning_rate rate_pos rate_small (fun k => path k a) start_nonneg
                  (runs a) N).
    pose proof (steps_at_least temperature hot learning_rate rate_pos rate_small (fun k => path k a) start_nonneg
                  (runs a) N).
    pose proof (steps_at_most temperature hot learning_rate rate_pos rate_small (fun k => path k a) start_nonneg
                  (runs a) N).
    auto. }
  split; [split; [|split]|].
  - intros a a_inside b b_inside.
    exact (pairs_fall_slowly n logits temperature a b two hot a_inside b_inside).
  - intros a inside; fold start.
    destruct (bounds a 1%nat inside) as (_ & least & _).
    change (path 1%nat) with (Statements.aepo.revival_time.after_step n start temperature learning_rate) in least.
    set (after := Statements.aepo.revival_time.after_step n start temperature learning_rate a) in *.
    pose proof (exp_pos (- start a / temperature)) as scale.
    assert (exp (- (start a - after) / temperature) = exp (after / temperature) * exp (- start a / temperature))
      as -> by (rewrite <- exp_plus; f_equal; field; lra).
    assert (exp (start a / temperature) * exp (- start a / temperature) = 1) as one
      by (rewrite <- exp_plus; replace (start a / temperature + - start a / temperature) with 0 by (field; lra);
          apply exp_0).
    apply Rmult_le_compat_r with (r := 2 * learning_rate / temperature * exp (- start a / temperature)) in least.
    2: { apply Rmult_le_pos; [apply Rlt_le, Rdiv_lt_0_compat; lra|lra]. }
    replace (temperature / (2 * learning_rate) * (exp (start a / temperature) - exp (after / temperature))
             * (2 * learning_rate / temperature * exp (- start a / temperature)))
      with (exp (start a / temperature) * exp (- start a / temperature)
            - exp (after / temperature) * exp (- start a / temperature)) in least by (field; lra).
    simpl in least; lra.
  - intros a inside; fold start; rewrite slow.
    destruct (bounds a 1%nat inside) as (_ & _ & most).
    change (path 1%nat) with (Statements.aepo.revival_time.after_step n start temperature learning_rate) in most.
    set (after := Statements.aepo.revival_time.after_step n start temperature learning_rate a) in *.
    pose proof (exp_pos (- start a / temperature)) as scale.
    assert (exp (- (start a - after) / temperature) = exp (after / temperature) * exp (- start a / temperature))
      as -> by (rewrite <- exp_plus; f_equal; field; lra).
    assert (exp (start a / temperature) * exp (- start a / temperature) = 1) as one
      by (rewrite <- exp_plus; replace (start a / temperature + - start a / temperature) with 0 by (field; lra);
          apply exp_0).
    apply Rmult_le_compat_r with (r := / (temperature + learning_rate) * exp (- start a / temperature)) in most.
    2: { apply Rmult_le_pos; [apply Rlt_le, Rinv_0_lt_compat; lra|lra]. }
    replace ((temperature + learning_rate) * (exp (start a / temperature) - exp (after / temperature))
             * (/ (temperature + learning_rate) * exp (- start a / temperature)))
      with (exp (start a / temperature) * exp (- start a / temperature)
            - exp (after / temperature) * exp (- start a / temperature)) in most by (field; lra).
    simpl in most; unfold Rdiv; lra.
  - intros k a inside; rewrite slow; fold start path.
    destruct (bounds a k inside) as (nonneg & least & most); exact (conj (conj nonneg least) most).
Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.aepo.revival_time.witness.
Proof. exists 2%nat, (fun _ => 0), 2, 1; witnessed. Qed.

Theorem defined : Statements.aepo.revival_time.defined.
Proof. domains. Qed.

From PolicyEntropy.library Require Import ConditionsMet.
From Trusted.Theorems.aepo Require revival_time.
From Trusted.Conditions.aepo Require revival_time.

(** Logits of two answers from (1, 0) on, at T = 2 and a learning rate of 1. *)
Definition from_the_first : nat -> vector := Trusted.Definitions.run
  (fun _ z a => z a + 1 * Theorems.aepo.revival_time.unit_step 2 z (fun _ => true) 2 a)
  (fun a => match a with 0%nat => 1 | _ => 0 end).

Theorem time_of_two_answers_witness : Conditions.aepo.revival_time.time_of_two_answers_witness.
Proof.
  exists 2, 1; repeat (split; [met|]); exists 2%nat, (fun _ => 0), 0%nat, 1%nat, 0; do 3 (split; [lia|]); intros; lra.
Qed.

Theorem time_of_two_answers_witness_1 : Conditions.aepo.revival_time.time_of_two_answers_witness_1.
Proof.
  exists 2, 1; do 2 (split; [lra|]); cbv zeta; exists from_the_first; split; [intros; reflexivity|].
  split; [change (0 <= 1 - 0); lra|]; exists 0%nat; change (0 < 1 - 0); lra.
Qed.

Theorem time_of_two_answers_witness_2 : Conditions.aepo.revival_time.time_of_two_answers_witness_2.
Proof.
  exists 2, 1; do 2 (split; [lra|]); cbv zeta; exists from_the_first; split; [intros; reflexivity|].
  split; [change (0 <= 1 - 0); lra|]; exists 0%nat, 0; split; [change (0 <= 1 - 0)|]; lra.
Qed.

Theorem time_of_two_answers_defined : Conditions.aepo.revival_time.time_of_two_answers_defined.
Proof.
  intros T rate hot small all.
  assert (forall D, Conditions.aepo.revival_time.speed_defined D T) as speeds.
  { intros D; split; [lra|]; cbv zeta; pose proof (exp_pos (- D / T)); pose proof (exp_pos (- D)).
    apply nonzero_of_pos, Rmult_lt_0_compat; lra. }
  assert (forall D, Conditions.aepo.revival_time.slowness_defined D T) as times
    by (intros D; split; [apply speeds|lra]).
  split; [intros; split; [red; lra|lra]|]; intros logits; split; [intros; red; lra|].
  intros _ gap _; split; [intros; apply speeds|]; intros N.
  split; [lra|]; split; [lra|]; split; [apply times|]; split; [lra|]; split.
  - intros positive; split; [apply times|]; split; [|lra].
    apply nonzero_of_pos, Rmult_lt_0_compat; [lra|].
    apply Rmult_lt_0_compat; [apply speed_hot_pos; assumption|apply exp_pos].
  - intros; split; apply times.
Qed.
