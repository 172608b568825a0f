(** On the solved face temperature steers entropy both ways, ties aside. For eta <= 2: F(T) and the fall of the
    logits' range have the sign of T - 1 (zero only at T = 1 or a uniform q), and
    |dz_i - dz_j| <= (eta/2) max(1, 1/T) |z_i - z_j|. A constant T > 1 leads to H = log n, a constant T < 1 to
    log k, k the number of likeliest answers of the start; no temperatures lead below log k. An extension of
    AEPO's Corollary 4.4. *)

From Coq Require Import Reals Lra Lia.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics TemperedReinforce Masks Conditional RightAnswers
  Learning SolvedFace SolvedFaceLimits.
From Trusted.Statements.extension Require face_controllability.
Open Scope R_scope.

Theorem both_ways :
  forall (n : nat) (logits : vector) (learning_rate : R),
  (1 <= n)%nat -> 0 < learning_rate <= 2 ->
  let uniform := forall a b, (a < n)%nat -> (b < n)%nat -> logits a = logits b in
  let range z := largest n z - smallest n z in
  let ties := count_on n (likeliest n all_actions logits) in
  (forall temperature, 0 < temperature ->
     let step a := learning_rate * face_step n logits temperature a in
     let fall := range logits - range (fun a => logits a + step a) in
     let hotter := temperature - 1 in
     0 <= hotter * face_rate n logits temperature
     /\ 0 <= hotter * fall
     /\ (temperature <> 1 -> ~ uniform ->
         0 < hotter * face_rate n logits temperature /\ 0 < hotter * fall)
     /\ (temperature = 1 \/ uniform -> face_rate n logits temperature = 0 /\ fall = 0)
     /\ (forall a b, (a < n)%nat -> (b < n)%nat ->
           Rabs (step a - step b)
           <= learning_rate / 2 * Rmax 1 (/ temperature) * Rabs (logits a - logits b)))
  /\ (forall temperature, 1 < temperature ->
        tends_to (fun k => entropy n (face_run n learning_rate (fun _ => temperature) logits k)) (ln (INR n)))
  /\ (forall temperature, 0 < temperature -> temperature < 1 ->
        tends_to (fun k => entropy n (face_run n learning_rate (fun _ => temperature) logits k)) (ln ties))
  /\ (forall temperature : nat -> R, (forall k, 0 < temperature k) ->
        forall k, ln ties <= entropy n (face_run n learning_rate temperature logits k)).

Proof.
  intros n logits learning_rate one (rate_pos & rate_small) uniform range ties.
  assert (0 < n)%nat as some by lia.
  assert (uniform <-> uniform_on n all_actions logits) as same_uniform.
  { split; intros even a b; [intros; apply even; assumption|intros; apply even; auto]. }
  split; [|split; [|split]].
  - intros temperature T_pos step fall hotter.
    assert (fall = range_on n all_actions logits
                   - range_on n all_actions (moved learning_rate logits (face_step n logits temperature)))
      as fall_eq by reflexivity.
    assert (face_rate n logits temperature = conditional_rate n logits all_actions temperature) as rate_eq
      by (apply rate_everything, all_everything).
    pose proof (all_some n some) as some_all.
    assert (temperature <> 1 -> ~ uniform ->
            0 < hotter * face_rate n logits temperature /\ 0 < hotter * fall) as strict.
    { intros not_1 uneven; rewrite same_uniform in uneven; rewrite rate_eq, fall_eq.
      destruct (Rtotal_order temperature 1) as [cold|[same|hot]]; [|contradiction|].
      - pose proof (rate_negative_when_cold n all_actions some_all logits temperature T_pos cold uneven).
        pose proof (range_grows_when_cold n logits temperature learning_rate some T_pos rate_pos rate_small
                      cold uneven).
        split; rewrite <- Rmult_opp_opp; apply Rmult_lt_0_compat; unfold hotter; lra.
      - pose proof (rate_positive_when_hot n all_actions some_all logits temperature hot uneven).
        pose proof (range_falls_when_hot n logits temperature learning_rate some T_pos rate_pos rate_small
                      hot uneven).
        split; apply Rmult_lt_0_compat; unfold hotter; lra. }
    assert (temperature = 1 \/ uniform -> face_rate n logits temperature = 0 /\ fall = 0) as rest.
    { intros either; rewrite rate_eq, fall_eq; split.
      - destruct either as [->|even]; [apply rate_zero_at_1; assumption|].
        apply rate_zero_when_uniform; [assumption|apply same_uniform; assumption].
      - assert (temperature = 1 \/ uniform_on n all_actions logits)
          by (destruct either as [same|even]; [left; assumption|right; apply same_uniform; assumption]).
        rewrite range_rests by assumption; ring. }
    destruct (Req_dec temperature 1) as [same|not_1];
      [|destruct (Classical_Prop.classic uniform) as [even|uneven]].
    + destruct (rest (or_introl same)) as [-> ->].
      rewrite !Rmult_0_r; repeat split; try lra; try assumption; try (intros; contradiction).
      intros a b a_inside b_inside; apply pairs_lipschitz; assumption.
    + destruct (rest (or_intror even)) as [-> ->].
      rewrite !Rmult_0_r; repeat split; try lra; try assumption; try (intros; contradiction).
      intros a b a_inside b_inside; apply pairs_lipschitz; assumption.
    + destruct (strict not_1 uneven) as [rate_sign fall_sign].
      split; [lra|split; [lra|split; [exact strict|split; [exact rest|]]]].
      intros a b a_inside b_inside; apply pairs_lipschitz; assumption.
  - intros temperature hot; apply hot_run; assumption.
  - intros temperature T_pos cold; apply cold_run; assumption.
  - intros temperature positive k; apply entropy_at_least_ties; assumption.
Qed.

Theorem proved : Statements.extension.face_controllability.statement.
Proof.
  intros n logits temperature learning_rate two T_pos rate_pos rate_small.
  destruct (both_ways n logits learning_rate ltac:(lia) (conj rate_pos rate_small)) as (each & hot & cold & floor).
  destruct (each temperature T_pos) as (rate_sign & fall_sign & strict & _ & pairs).
  split; [split; [|split]|split; [|split; [|split]]].
  - exact rate_sign.
  - exact fall_sign.
  - intros a a_inside b b_inside.
    replace (learning_rate * Rmax 1 (1 / temperature) / 2) with (learning_rate / 2 * Rmax 1 (/ temperature)).
    + apply pairs; assumption.
    + unfold Rdiv; rewrite !Rmult_1_l; ring.
  - intros (not_1 & wide); apply strict.
    + intros same; rewrite same in not_1; lra.
    + intros even; unfold Statements.extension.face_controllability.logit_range in wide.
      destruct (largest_attained n logits ltac:(lia)) as (a & a_inside & ->) in wide.
      destruct (smallest_attained n logits ltac:(lia)) as (b & b_inside & ->) in wide.
      rewrite (even a b) in wide by assumption; lra.
  - intros above; apply hot; lra.
  - intros below; apply cold; lra.
  - intros temperatures positive k; apply floor; assumption.
Qed.

From PolicyEntropy.library Require Import Witnesses LimitWitnesses  Domains.

Theorem witness : Statements.extension.face_controllability.witness.
Proof. exists 2%nat, (fun _ => 0), 2, 1; witnessed. Qed.

Theorem witness_2 : Statements.extension.face_controllability.witness_2.
Proof. exists 2%nat, (fun _ => 0), 2, 1; limits_witnessed. Qed.

Theorem witness_4 : Statements.extension.face_controllability.witness_4.
Proof. exists 2%nat, (fun _ => 0), 2, 1; limits_witnessed. Qed.

Theorem witness_1 : Statements.extension.face_controllability.witness_1.
Proof. exists 2%nat, one_to_two, 2, 1; witnessed. Qed.

Theorem witness_3 : Statements.extension.face_controllability.witness_3.
Proof. exists 2%nat, one_to_two, (1 / 2), 1; witnessed. Qed.

Theorem defined : Statements.extension.face_controllability.defined.
Proof. domains. Qed.
