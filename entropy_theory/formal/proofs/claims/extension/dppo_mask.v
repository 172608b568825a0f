(** Extension of AEPO, Theorem 4.3: where the reward is a coin, DPPO's mask does not have entropy rise to first order
    if it spares the tokens of more than e^-H. *)

From Coq Require Import Reals Lra Lia.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Masks Curvature TemperedReinforce OwnCovariance CoinRewards.
From Trusted.Statements.extension Require dppo_mask.
Open Scope R_scope.

Theorem proved : Statements.extension.dppo_mask.repair.
Proof.
  intros n z shift delta two nonneg spared; assert (0 < n)%nat as some by lia.
  set (above := Statements.extension.dppo_mask.above_sampler n z shift) in *.
  set (w := fun a => if less delta (above a) then 0 else 1).
  change (0 <= covariance n (softmax n z) z (fun a => softmax n z a * centered n (softmax n z) w a)).
  rewrite fall_as_excess by exact some.
  replace (mean n (softmax n z) (fun a => w a * excess n z a))
    with (mean n (softmax n z) (fun a => (1 - w a) * - excess n z a)).
  - apply mean_nonneg; [intros; apply Rlt_le, softmax_pos, some|]; intros a inside.
    unfold w; destruct (less delta (above a)) eqn:masked; [|lra].
    apply less_true in masked.
    pose proof (smallest_le n (fun b => if less 0 (centered n (softmax n z) z b) then delta - above b else 0)
                  a inside) as least; cbv beta in least.
    destruct (less 0 (centered n (softmax n z) z a)) eqn:ahead; [lra|].
    apply less_false in ahead.
    pose proof (softmax_pos n z a some) as positive; pose proof (average_nonneg n z some) as average.
    assert (own_covariance n z a <= 0) by (unfold own_covariance; nra).
    rewrite excess_eq; lra.
  - rewrite (mean_ext n _ _ (fun a => w a * excess n z a - excess n z a)) by (intros; ring).
    rewrite mean_minus; change (fun a => excess n z a) with (excess n z); rewrite mean_excess by exact some; ring.
Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.extension.dppo_mask.witness.
Proof. exists 2%nat, (fun _ => 0), (fun _ => 0), 0; witnessed. Qed.
