(** Extension of AEPO, Theorem 4.3: at every temperature T >= 1 with F(T) < 0,
    T^2 F'(T) > (z+ - E_T z)|F(T)| >= 0, where z+ = max(E z, max{z_a : c_a < C}). *)

From Coq Require Import Reals Lra Lia.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics TemperedReinforce OwnCovariance TemperedRate.
From Trusted.Statements.extension Require global_slope.
Open Scope R_scope.

(** The slope is what its name says. *)
Theorem slope :
  forall (n : nat) (logits : vector) (correct : mask) (temperature : R),
  (1 <= n)%nat -> 0 < temperature ->
  derivative (rate n logits correct) temperature
    (scaled_slope n logits correct temperature / (temperature * temperature)).
Proof. intros; apply derivative_rate; [lia|assumption]. Qed.

(** The room that the statement compares with is not negative. *)
Theorem room :
  forall (n : nat) (logits : vector) (correct : mask) (temperature : R),
  (1 <= n)%nat -> 1 <= temperature ->
  0 <= threshold n logits - mean n (softmax n (tempered temperature logits)) logits.
Proof.
  intros n logits correct temperature some hot.
  pose proof (mean_tempered_le_threshold n logits some temperature hot); lra.
Qed.

Theorem slope_above_room :
  forall (n : nat) (logits : vector) (correct : mask) (temperature : R),
  (1 <= n)%nat -> 0 < temperature ->
  0 <= temperature - 1 ->
  0 < - rate n logits correct temperature ->
  0 < scaled_slope n logits correct temperature
      + (threshold n logits - mean n (softmax n (tempered temperature logits)) logits)
        * rate n logits correct temperature
  /\ 0 < scaled_slope n logits correct temperature.
Proof.
  intros n logits correct temperature some positive hot falls; split.
  - pose proof (scaled_slope_gt n logits correct ltac:(lia) temperature ltac:(lra)); lra.
  - apply scaled_slope_pos; [lia|lra|lra].
Qed.

Theorem proved : Statements.extension.global_slope.statement.
Proof.
  intros n logits correct temperature many some_correct hot falls.
  destruct (slope_above_room n logits correct temperature ltac:(lia) ltac:(lra) ltac:(lra) falls) as [above positive].
  pose proof (room n logits correct temperature ltac:(lia) hot) as nonneg.
  repeat split.
  - unfold Statements.extension.global_slope.surplus.
    rewrite (total_on_ext n correct _ (fun a => softmax n (tempered temperature logits) a
               * ((logits a - threshold n logits) * excess n logits a)))
      by (intros; apply Rmult_assoc).
    apply surplus_pos; [lia|].
    apply Ropp_lt_cancel; rewrite Ropp_0; exact falls.
  - exact positive.
  - replace (temperature ^ 2) with (temperature * temperature) by ring.
    apply slope; [lia|lra].
  - change (0 < scaled_slope n logits correct temperature
                + (threshold n logits - mean n (softmax n (tempered temperature logits)) logits)
                  * rate n logits correct temperature) in above.
    change ((threshold n logits - mean n (softmax n (tempered temperature logits)) logits)
            * - rate n logits correct temperature < scaled_slope n logits correct temperature); lra.
  - apply Rmult_le_pos; [exact nonneg|apply Rlt_le; exact falls].
Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.extension.global_slope.witness.
Proof.
  exists 2%nat, (fun a => match a with | 0%nat => 0 | _ => ln 2 end), (fun a => Nat.eqb a 1), 1;
    witnessed.
Qed.

Theorem defined : Statements.extension.global_slope.defined.
Proof. domains. Qed.
