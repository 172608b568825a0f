(** AEPO, Table 4: with a fixed number of positive samples the entropy rate is G(T) = F(T)/P_T. It has the sign of
    F(T), and where E_q c > 0, as it is where F(1) < 0, both halves of Corollary 4.4 hold at every temperature. *)

From Coq Require Import Reals Lra Lia.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Masks TemperedReinforce OwnCovariance
  FixedPositives Examples.
From Trusted.Statements.aepo Require fixed_positives.
Open Scope R_scope.

(** F = P_T G, with P_T in (0, 1]. *)
Theorem share :
  forall (n : nat) (logits : vector) (correct : mask) (temperature : R),
  (1 <= n)%nat -> nonempty n correct -> 0 < temperature ->
  rate n logits correct temperature
  = total_on n correct (softmax n (tempered temperature logits)) * fixed_rate n logits correct temperature
  /\ 0 < total_on n correct (softmax n (tempered temperature logits)) <= 1.
Proof.
  intros n logits correct temperature some some_correct positive; repeat split.
  - apply rate_is_fixed_rate; [lia|assumption].
  - apply total_softmax_pos; [lia|assumption].
  - apply total_softmax_le_1; lia.
Qed.

Lemma sum_zero_outside n A T z f :
  total_on n A (fun a => tempered_conditional n z A T a * f a) = sum n (fun a => tempered_conditional n z A T a * f a).
Proof.
  apply sum_ext; intros a _; unfold tempered_conditional, only; destruct (A a); [reflexivity|unfold Rdiv; ring].
Qed.

Theorem signs :
  forall (n : nat) (logits : vector) (correct : mask) (temperature : R),
  (1 <= n)%nat -> nonempty n correct -> 0 < temperature ->
  let own := own_covariance n logits in
  let own_mean := total_on n correct (fun a => tempered_conditional n logits correct 1 a * own a) in
  let gain := total_on n correct (fun a =>
    (tempered_conditional n logits correct 1 a - tempered_conditional n logits correct temperature a)
    * (own a - smallest_on n correct own)) in
  0 <= rate n logits correct temperature * fixed_rate n logits correct temperature /\
  0 <= Rmax (- own_mean) ((temperature - 1) * gain) /\
  0 <= Rmax (untempered_rate n logits correct) own_mean.
Proof.
  intros n logits correct temperature some some_correct positive own mean_of_correct gain.
  assert (0 < n)%nat as n_pos by lia.
  assert (mean_of_correct = own_mean n logits correct 1) as mean_eq by apply sum_zero_outside.
  assert (gain = own_mean n logits correct 1 - own_mean n logits correct temperature) as gain_eq.
  { unfold gain.
    rewrite (total_on_ext n correct _ (fun a =>
        (tempered_conditional n logits correct 1 a * own a
         - tempered_conditional n logits correct temperature a * own a)
        - (tempered_conditional n logits correct 1 a * smallest_on n correct own
           - tempered_conditional n logits correct temperature a * smallest_on n correct own)))
      by (intros; ring).
    rewrite !total_on_minus, !sum_zero_outside, !sum_scal_r, !sum_conditional by assumption.
    unfold own_mean, own; ring. }
  repeat split.
  - rewrite rate_is_fixed_rate by assumption.
    pose proof (total_softmax_pos n correct n_pos some_correct (tempered temperature logits)).
    pose proof (Rle_0_sqr (fixed_rate n logits correct temperature)) as square; unfold Rsqr in square; nra.
  - rewrite mean_eq, gain_eq.
    destruct (Rlt_or_le (own_mean n logits correct 1) 0) as [down|up].
    + pose proof (Rmax_l (- own_mean n logits correct 1)
        ((temperature - 1) * (own_mean n logits correct 1 - own_mean n logits correct temperature))); lra.
    + pose proof (Rmax_r (- own_mean n logits correct 1)
        ((temperature - 1) * (own_mean n logits correct 1 - own_mean n logits correct temperature))).
      pose proof (fixed_rate_crosses n logits correct n_pos some_correct temperature positive up); lra.
  - rewrite mean_eq, <- rate_1.
    destruct (Rlt_or_le (rate n logits correct 1) 0) as [falls|rises].
    + pose proof (Rmax_r (rate n logits correct 1) (own_mean n logits correct 1)).
      enough (0 <= own_mean n logits correct 1) by lra.
      rewrite rate_is_fixed_rate, fixed_rate_eq in falls by assumption.
      pose proof (total_softmax_pos n correct n_pos some_correct (tempered 1 logits)).
      pose proof (average_nonneg n logits n_pos); nra.
    + pose proof (Rmax_l (rate n logits correct 1) (own_mean n logits correct 1)); lra.
Qed.

(** Both halves of Corollary 4.4, for G, wherever plain REINFORCE lowers entropy. *)
Theorem both_halves :
  forall (n : nat) (logits : vector) (correct : mask) (temperature : R),
  (1 <= n)%nat -> nonempty n correct -> 0 < temperature ->
  untempered_rate n logits correct < 0 ->
  0 <= (temperature - 1)
       * (fixed_rate n logits correct temperature - fixed_rate n logits correct 1).
Proof.
  intros n logits correct temperature some some_correct positive falls.
  assert (0 < n)%nat as n_pos by lia.
  rewrite <- rate_1, rate_is_fixed_rate, fixed_rate_eq in falls by assumption.
  pose proof (total_softmax_pos n correct n_pos some_correct (tempered 1 logits)).
  pose proof (average_nonneg n logits n_pos).
  rewrite !fixed_rate_eq by assumption.
  pose proof (fixed_rate_crosses n logits correct n_pos some_correct temperature positive ltac:(nra)); nra.
Qed.

(** The weight that balances a plain step with kappa F(1) is P_T times the one that F(T) needs. *)
Theorem weight :
  forall (n : nat) (logits : vector) (correct : mask) (temperature plain alpha beta : R),
  (1 <= n)%nat -> nonempty n correct -> 0 < temperature ->
  rate n logits correct temperature <> 0 ->
  plain + alpha * rate n logits correct temperature = 0 ->
  plain + beta * fixed_rate n logits correct temperature = 0 ->
  beta = total_on n correct (softmax n (tempered temperature logits)) * alpha.
Proof.
  intros n logits correct temperature plain alpha beta some some_correct positive moves with_rate with_fixed.
  destruct (share n logits correct temperature some some_correct positive) as [product _].
  rewrite product in moves, with_rate.
  apply (Rmult_eq_reg_r (fixed_rate n logits correct temperature)); [lra|].
  intros none; rewrite none in moves; lra.
Qed.

(** With one correct answer temperature does nothing at all. *)
Theorem one_correct_answer :
  forall (n : nat) (logits : vector) (k : nat) (temperature : R),
  (k < n)%nat -> 0 < temperature ->
  fixed_rate n logits (single k) temperature = - excess n logits k.
Proof.
  intros n logits k temperature inside positive.
  assert (0 < n)%nat as some by lia.
  pose proof (rate_is_fixed_rate n logits (single k) some (single_nonempty n k inside) temperature) as product.
  rewrite rate_single, total_on_single in product by assumption.
  pose proof (softmax_pos n (tempered temperature logits) k some).
  apply (Rmult_eq_reg_l (softmax n (tempered temperature logits) k)); lra.
Qed.

Theorem proved : Statements.aepo.fixed_positives.statement.
Proof.
  intros n logits correct temperature many some_correct positive.
  assert (0 < n)%nat as n_pos by lia.
  assert (forall x, x / 1 = x) as over_one by (intros; field).
  assert (forall T, 0 < T -> forall a, (a < n)%nat ->
            Statements.aepo.fixed_positives.conditional n logits correct T a
            = tempered_conditional n logits correct T a) as same.
  { intros T T_pos a inside; rewrite tempered_conditional_eq by assumption; reflexivity. }
  assert (forall a, (a < n)%nat ->
            Statements.aepo.fixed_positives.conditional_without_temperature n logits correct a
            = tempered_conditional n logits correct 1 a) as same_at_one.
  { intros a inside; rewrite tempered_conditional_eq by (lra || assumption).
    unfold Statements.aepo.fixed_positives.conditional_without_temperature, total_on, only.
    rewrite (sum_ext n (fun b => if correct b then exp ((logits b - largest_on n correct logits) / 1) else 0)
               (fun b => if correct b then exp (logits b - largest_on n correct logits) else 0));
      [destruct (correct a); [rewrite over_one|]; reflexivity|].
    intros b _; destruct (correct b); [rewrite over_one|]; reflexivity. }
  assert (Statements.aepo.fixed_positives.fixed_rate n logits correct temperature
          = fixed_rate n logits correct temperature) as same_rate.
  { unfold Statements.aepo.fixed_positives.fixed_rate, fixed_rate; f_equal.
    apply covariance_ext; [reflexivity|intros a inside; rewrite same by assumption; reflexivity]. }
  assert (Statements.aepo.fixed_positives.fixed_rate_without_temperature n logits correct
          = fixed_rate n logits correct 1) as same_rate_at_one.
  { unfold Statements.aepo.fixed_positives.fixed_rate_without_temperature, fixed_rate; f_equal.
    apply covariance_ext; [reflexivity|intros a inside; rewrite same_at_one by assumption; reflexivity]. }
  destruct (signs n logits correct temperature ltac:(lia) some_correct positive) as (sign & crossing & mean_positive).
  destruct (share n logits correct temperature ltac:(lia) some_correct positive) as (product & above & below).
  rewrite same_rate, same_rate_at_one.
  split; [|repeat split].
  - repeat split.
    + exact sign.
    + unfold Statements.aepo.fixed_positives.mean_of_correct, Statements.aepo.fixed_positives.gain.
      rewrite (total_on_ext n correct _ (fun a => tempered_conditional n logits correct 1 a
                                                   * own_covariance n logits a))
        by (intros a inside _; rewrite same_at_one by assumption; reflexivity).
      rewrite (total_on_ext n correct
                 (fun a => (Statements.aepo.fixed_positives.conditional_without_temperature n logits correct a
                            - Statements.aepo.fixed_positives.conditional n logits correct temperature a) * _)
                 (fun a => (tempered_conditional n logits correct 1 a
                            - tempered_conditional n logits correct temperature a)
                           * (own_covariance n logits a - smallest_on n correct (own_covariance n logits))))
        by (intros a inside _; rewrite same_at_one, same by assumption; reflexivity).
      exact crossing.
    + unfold Statements.aepo.fixed_positives.mean_of_correct.
      rewrite (total_on_ext n correct _ (fun a => tempered_conditional n logits correct 1 a
                                                   * own_covariance n logits a))
        by (intros a inside _; rewrite same_at_one by assumption; reflexivity).
      exact mean_positive.
  - exact product.
  - exact above.
  - exact below.
  - intros falls; apply both_halves; [lia|assumption|assumption|exact falls].
Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.aepo.fixed_positives.witness.
Proof. exists 2%nat, (fun _ => 0), (fun a => Nat.eqb a 1), 2; witnessed. Qed.

Theorem witness_1 : Statements.aepo.fixed_positives.witness_1.
Proof. exists 2%nat, one_to_two, (fun a => Nat.eqb a 1), 1; witnessed. Qed.

Theorem defined : Statements.aepo.fixed_positives.defined.
Proof. domains. Qed.

From PolicyEntropy.library Require Import ConditionsMet.
From Trusted.Theorems.aepo Require fixed_positives.
From Trusted.Conditions.aepo Require fixed_positives.

Theorem weight_witness : Conditions.aepo.fixed_positives.weight_witness.
Proof.
  exists 2%nat, one_to_two, (fun a => Nat.eqb a 1), 1, 0, 0, 0.
  assert (Theorems.aepo.fixed_positives.rate 2 one_to_two (fun a => Nat.eqb a 1) 1 < 0) as falls by numbers.
  do 3 (split; [met|]); split; [lra|split; ring].
Qed.

Theorem weight_defined : Conditions.aepo.fixed_positives.weight_defined.
Proof. domains. Qed.

Theorem one_correct_answer_witness : Conditions.aepo.fixed_positives.one_correct_answer_witness.
Proof. exists 1%nat, 0%nat, 1; met. Qed.

Theorem one_correct_answer_defined : Conditions.aepo.fixed_positives.one_correct_answer_defined.
Proof.
  intros n logits k temperature inside positive; split; [lra|].
  apply nonzero_of_pos, total_on_pos.
  - exists k; split; [exact inside|apply Nat.eqb_refl].
  - intros; apply softmax_pos; lia.
Qed.
