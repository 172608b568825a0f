(** Extension of AEPO, Theorem 4.3: a temperature can change the sign of the entropy rate F(T) exactly if
    mean_{A*} c < C < max_{A*} c; with bounds on the temperatures that do. *)

From Coq Require Import Reals Lra Lia Bool.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Masks TemperedReinforce TemperedRate
  SignChange SignChangeTemperature Examples.
From Trusted.Statements.extension Require sign_change_temperature.
Open Scope R_scope.

Lemma implication_as_maximum premise conclusion :
  (0 < premise -> 0 <= conclusion) -> 0 <= Rmax (- premise) conclusion.
Proof.
  intros implied; destruct (Rlt_or_le 0 premise) as [holds|fails].
  - pose proof (Rmax_r (- premise) conclusion); specialize (implied holds); lra.
  - pose proof (Rmax_l (- premise) conclusion); lra.
Qed.

Theorem bounds :
  forall (n : nat) (logits : vector) (correct : mask) (temperature : R),
  (1 <= n)%nat -> nonempty n correct -> 0 < temperature ->
  let F := rate n logits correct temperature in
  0 <= Rmax (- F) (- sum_of_excess n logits correct) /\
  0 <= Rmax (- hot_enough n logits correct temperature) F /\
  0 <= Rmax (- - F) (largest_excess n logits correct) /\
  0 <= Rmax (- cold_enough n logits correct temperature) (- F) /\
  0 <= (if some_on n (complement correct) then (temperature - 1) * (temperature - 1)
        else (temperature - 1) * F).
Proof.
  intros n logits correct temperature some some_correct positive F; unfold F.
  assert (0 < n)%nat as n_pos by lia.
  repeat split; try apply implication_as_maximum.
  - intros rises; pose proof (rise_needs_sum n logits correct n_pos temperature positive rises); lra.
  - intros hot; pose proof (hot_rises n logits correct n_pos temperature positive hot); lra.
  - intros falls; pose proof (fall_needs_excess n logits correct n_pos temperature positive ltac:(lra)); lra.
  - intros cold; pose proof (cold_falls n logits correct n_pos some_correct temperature positive cold); lra.
  - destruct (some_on n (complement correct)) eqn:wrong; [apply Rle_0_sqr|].
    apply everything_iff in wrong.
    pose proof (everything_rate_1 n logits correct n_pos wrong) as at_one.
    destruct (Rtotal_order temperature 1) as [cold|[->|hot]].
    + assert (rate n logits correct temperature <= 0); [|nra].
      apply Rnot_lt_le; intros rises.
      pose proof (rate_stays_positive n logits correct n_pos temperature 1 positive ltac:(lra) rises); lra.
    + lra.
    + assert (0 <= rate n logits correct temperature); [|nra].
      apply Rnot_lt_le; intros falls.
      pose proof (rate_was_negative n logits correct n_pos 1 temperature ltac:(lra) ltac:(lra) falls); lra.
Qed.

(** F > 0 at some temperature exactly if the mean of c over A* is below C. *)
Theorem rises_somewhere_iff :
  forall (n : nat) (logits : vector) (correct : mask),
  (1 <= n)%nat -> nonempty n correct ->
  (exists T, 0 < T /\ 0 < rate n logits correct T) <-> sum_of_excess n logits correct < 0.
Proof.
  intros n logits correct some some_correct; split.
  - intros (T & positive & rises); apply (rise_needs_sum n logits correct ltac:(lia) T positive rises).
  - intros negative; apply rise_somewhere; [lia|assumption|assumption].
Qed.

(** F < 0 at some temperature exactly if the largest c of A* is above C. *)
Theorem falls_somewhere_iff :
  forall (n : nat) (logits : vector) (correct : mask),
  (1 <= n)%nat -> nonempty n correct ->
  (exists T, 0 < T /\ rate n logits correct T < 0) <-> 0 < largest_excess n logits correct.
Proof.
  intros n logits correct some some_correct; split.
  - intros (T & positive & falls); apply (fall_needs_excess n logits correct ltac:(lia) T positive falls).
  - intros larger; apply fall_somewhere; [lia|assumption|assumption].
Qed.

(** The sign changes at a temperature T0 in (0, inf) exactly if mean_{A*} c < C < max_{A*} c. *)
Theorem sign_change :
  forall (n : nat) (logits : vector) (correct : mask),
  (1 <= n)%nat -> nonempty n correct ->
  (exists T0, 0 < T0 /\
     (forall T, 0 < T -> T < T0 -> rate n logits correct T < 0) /\
     (forall T, T0 < T -> 0 < rate n logits correct T))
  <-> sum_of_excess n logits correct < 0 /\ 0 < largest_excess n logits correct.
Proof. intros; apply sign_change_iff; [lia|assumption]. Qed.

(** One correct answer: the sign of F is that of C - c, at every temperature. *)
Theorem one_correct_answer :
  forall (n : nat) (logits : vector) (k : nat) (temperature : R),
  (k < n)%nat -> 0 < temperature ->
  rate n logits (single k) temperature = softmax n (tempered temperature logits) k * - excess n logits k
  /\ 0 < softmax n (tempered temperature logits) k.
Proof.
  intros n logits k temperature inside positive; split.
  - rewrite rate_single by assumption; ring.
  - apply softmax_pos; lia.
Qed.

(** All actions correct: T0 = 1, for every policy that is not uniform. *)
Theorem every_action_correct :
  forall (n : nat) (logits : vector) (correct : mask) (temperature : R),
  (1 <= n)%nat -> everything n correct -> 0 < temperature ->
  0 < largest n logits - smallest n logits ->
  (1 < temperature -> 0 < rate n logits correct temperature) /\
  (temperature < 1 -> rate n logits correct temperature < 0).
Proof.
  intros n logits correct temperature some all positive range.
  assert (0 < n)%nat as n_pos by lia.
  assert (nonempty n correct) as some_correct by (exists 0%nat; split; [assumption|apply all; assumption]).
  pose proof (everything_rate_1 n logits correct n_pos all) as at_one.
  assert (0 < largest_on n correct (fun a => Rabs (excess n logits a))) as differs.
  { destruct (largest_excess_pos n logits n_pos range) as (a & inside & above).
    pose proof (largest_on_ge n correct (fun b => Rabs (excess n logits b)) a inside (all a inside)) as bound.
    simpl in bound; pose proof (Rle_abs (excess n logits a)); lra. }
  split; intros side.
  - apply (rise_continues n logits correct n_pos some_correct 1); [lra|assumption|assumption|lra].
  - apply (fall_continues n logits correct n_pos some_correct 1); [assumption|assumption|assumption|lra].
Qed.

Theorem proved : Statements.extension.sign_change_temperature.statement.
Proof.
  intros n logits correct temperature many some_correct positive.
  assert (0 < n)%nat as n_pos by lia.
  destruct (bounds n logits correct temperature ltac:(lia) some_correct positive)
    as (rise & hot & fall & cold & face).
  split; [|repeat split].
  - repeat split.
    + exact rise.
    + exact hot.
    + exact fall.
    + exact cold.
    + destruct (some_on n (complement correct)); exact face.
  - intros somewhere; apply Rnot_le_lt; intros nonneg; apply somewhere.
    intros T T_pos; apply Rnot_lt_le; intros rises.
    apply (Rlt_not_le _ _ (rise_needs_sum n logits correct n_pos T T_pos rises)), nonneg.
  - intros negative never.
    destruct (rise_somewhere n logits correct n_pos some_correct negative) as (T & T_pos & rises).
    apply (Rlt_not_le _ _ rises), (never T T_pos).
  - intros enough_heat; apply hot_rises; [assumption|assumption|exact enough_heat].
  - intros somewhere; apply Rnot_le_lt; intros nonpos; apply somewhere.
    intros T T_pos; apply Rnot_lt_le; intros falls.
    apply (Rlt_not_le _ _ (fall_needs_excess n logits correct n_pos T T_pos falls)), nonpos.
  - intros larger never.
    destruct (fall_somewhere n logits correct n_pos some_correct larger) as (T & T_pos & falls).
    apply (Rlt_not_le _ _ falls), (never T T_pos).
  - intros enough_cold; apply cold_falls; [assumption|assumption|assumption|exact enough_cold].
Qed.

From PolicyEntropy.library Require Import Witnesses  Domains.

Theorem witness : Statements.extension.sign_change_temperature.witness.
Proof. exists 2%nat, (fun _ => 0), (fun a => Nat.eqb a 1), 2; witnessed. Qed.

Theorem witness_1 : Statements.extension.sign_change_temperature.witness_1.
Proof.
  exists 2%nat, one_to_four, (fun a => Nat.eqb a 0), 2; do 3 (split; [witnessed|]).
  intros all; specialize (all 2 ltac:(lra)); revert all; apply Rlt_not_le; numbers.
Qed.

Theorem witness_2 : Statements.extension.sign_change_temperature.witness_2.
Proof. exists 2%nat, one_to_four, (fun a => Nat.eqb a 0), 2; witnessed. Qed.

Theorem witness_3 : Statements.extension.sign_change_temperature.witness_3.
Proof. exists 2%nat, one_to_four, (fun a => Nat.eqb a 0), 2; witnessed. Qed.

Theorem witness_4 : Statements.extension.sign_change_temperature.witness_4.
Proof.
  exists 2%nat, one_to_four, (fun a => Nat.eqb a 1), 2; do 3 (split; [witnessed|]).
  intros all; specialize (all 2 ltac:(lra)); revert all; apply Rlt_not_le; numbers.
Qed.

Theorem witness_5 : Statements.extension.sign_change_temperature.witness_5.
Proof. exists 2%nat, one_to_four, (fun a => Nat.eqb a 1), 2; witnessed. Qed.

Theorem witness_6 : Statements.extension.sign_change_temperature.witness_6.
Proof. exists 2%nat, one_to_four, (fun a => Nat.eqb a 1), 2; witnessed. Qed.

Theorem defined : Statements.extension.sign_change_temperature.defined.
Proof. domains. Qed.

From PolicyEntropy.library Require Import ConditionsMet.
From Trusted.Theorems.extension Require sign_change_temperature.
From Trusted.Conditions.extension Require sign_change_temperature.

Theorem rises_somewhere_iff_witness : Conditions.extension.sign_change_temperature.rises_somewhere_iff_witness.
Proof. exists 2%nat, (fun a => Nat.eqb a 1); met. Qed.

Theorem rises_somewhere_iff_defined : Conditions.extension.sign_change_temperature.rises_somewhere_iff_defined.
Proof. domains. Qed.

Theorem falls_somewhere_iff_witness : Conditions.extension.sign_change_temperature.falls_somewhere_iff_witness.
Proof. exists 2%nat, (fun a => Nat.eqb a 1); met. Qed.

Theorem falls_somewhere_iff_defined : Conditions.extension.sign_change_temperature.falls_somewhere_iff_defined.
Proof. domains. Qed.

Theorem sign_change_witness : Conditions.extension.sign_change_temperature.sign_change_witness.
Proof. exists 2%nat, (fun a => Nat.eqb a 1); met. Qed.

Theorem sign_change_defined : Conditions.extension.sign_change_temperature.sign_change_defined.
Proof. domains. Qed.

Theorem one_correct_answer_witness : Conditions.extension.sign_change_temperature.one_correct_answer_witness.
Proof. exists 1%nat, 0%nat, 1; met. Qed.

Theorem one_correct_answer_defined : Conditions.extension.sign_change_temperature.one_correct_answer_defined.
Proof. domains. Qed.

Theorem every_action_correct_witness : Conditions.extension.sign_change_temperature.every_action_correct_witness.
Proof.
  exists 2%nat, zero_and_one, (fun _ => true), 2; split; [lia|]; split; [red; reflexivity|]; split; [lra|]; split; [numbers|lra].
Qed.

Theorem every_action_correct_witness_1 : Conditions.extension.sign_change_temperature.every_action_correct_witness_1.
Proof.
  exists 2%nat, zero_and_one, (fun _ => true), (1 / 2); split; [lia|]; split; [red; reflexivity|]; split; [lra|]; split; [numbers|lra].
Qed.

Theorem every_action_correct_defined : Conditions.extension.sign_change_temperature.every_action_correct_defined.
Proof. domains. Qed.
