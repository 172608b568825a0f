(** Extension of AEPO, Theorem 4.3: where the reward is a coin, weights that do not fall as the probability grows
    never raise entropy to first order. *)

From Coq Require Import Reals Lra Lia.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Curvature EntropyChange CoinRewards.
From Trusted.Statements.extension Require reweighted_coin.
Open Scope R_scope.

Theorem proved : Statements.extension.reweighted_coin.statement.
Proof.
  intros n logits weight two agree; assert (0 < n)%nat as some by lia; split.
  - apply ordered_weights_fall; [exact some|].
    apply in_order_of_smallest; [exact agree].
  - set (d := Statements.extension.reweighted_coin.reweighted_step n logits weight).
    apply is_derive_Reals; evar_last; [apply (is_derive_entropy_along_line n logits d some)|].
    unfold Statements.extension.reweighted_coin.fall; fold d; f_equal.
    rewrite covariance_log_softmax by (exact some || apply softmax_sum, some).
    transitivity (covariance n (softmax n (line logits d 0)) logits d).
    + apply covariance_ext; intros a _; unfold line; ring.
    + apply covariance_ext_p; intros; apply softmax_ext; [intros; apply line_start|assumption].
Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.extension.reweighted_coin.witness.
Proof. exists 2%nat, (fun _ => 0), (fun _ => 0); witnessed. Qed.
