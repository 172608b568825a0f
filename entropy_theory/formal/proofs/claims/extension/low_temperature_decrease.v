(** AEPO, Corollary 4.4, second half, at every temperature: where plain REINFORCE lowers entropy and a lower
    temperature makes right answers no rarer, it lowers entropy at least as much. *)

From Coq Require Import Reals Lra Lia.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Masks TemperedReinforce OwnCovariance
  FixedPositives.
From Trusted.Statements.extension Require low_temperature_decrease.
Open Scope R_scope.

(** F(T) = P_T G(T) <= P_T G(1) <= P_1 G(1) = F(1). *)
Theorem falls_more_when_colder :
  forall (n : nat) (logits : vector) (correct : mask) (temperature : R),
  (1 <= n)%nat -> nonempty n correct -> 0 < temperature -> temperature < 1 ->
  rate n logits correct 1 < 0 ->
  total_on n correct (softmax n (tempered 1 logits))
  <= total_on n correct (softmax n (tempered temperature logits)) ->
  rate n logits correct temperature <= rate n logits correct 1.
Proof.
  intros n logits correct temperature some some_correct positive cold falls more_often.
  assert (0 < n)%nat as n_pos by lia.
  rewrite !rate_is_fixed_rate in * by assumption.
  pose proof (total_softmax_pos n correct n_pos some_correct (tempered 1 logits)) as some_right.
  pose proof (average_nonneg n logits n_pos).
  assert (fixed_rate n logits correct 1 < 0) as rate_falls by nra.
  assert (fixed_rate n logits correct temperature <= fixed_rate n logits correct 1) as colder.
  { rewrite !fixed_rate_eq in * by assumption.
    pose proof (fixed_rate_crosses n logits correct n_pos some_correct temperature positive ltac:(lra)); nra. }
  nra.
Qed.

Theorem proved : Statements.extension.low_temperature_decrease.statement.
Proof.
  intros n logits correct temperature some some_correct positive cold falls more_often.
  assert (0 < n)%nat as n_pos by lia.
  change (0 < - untempered_rate n logits correct) in falls.
  change (rate n logits correct temperature <= untempered_rate n logits correct).
  rewrite <- rate_1; apply falls_more_when_colder; try assumption.
  - rewrite rate_1; lra.
  - rewrite (total_on_ext n correct (softmax n (tempered 1 logits)) (softmax n logits))
      by (intros; apply softmax_tempered_1; assumption).
    rewrite total_on_minus in more_often; lra.
Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.extension.low_temperature_decrease.witness.
Proof.
  exists 2%nat, (fun a => match a with | 0%nat => 0 | _ => ln 2 end), (fun a => Nat.eqb a 1), (1 / 2);
    witnessed.
Qed.

Theorem defined : Statements.extension.low_temperature_decrease.defined.
Proof. domains. Qed.
