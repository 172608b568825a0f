(** Extension of AEPO, Theorem 4.3: importance weights that are truncated, or masked from above alone, do not have a
    sharper sampler raise entropy to first order, where the reward is a coin. *)

From Coq Require Import Reals Lra Lia.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics OwnCovariance CoinRewards.
From Trusted.Statements.extension Require masked_weights.
Open Scope R_scope.

Theorem proved : Statements.extension.masked_weights.repair.
Proof.
  intros n logits shift high two above agree; assert (0 < n)%nat as some by lia.
  assert (in_order n logits shift) as order by (apply in_order_of_smallest; exact agree).
  pose proof (ratio_in_order n logits shift some order) as ratios.
  split; apply ordered_weights_fall; try exact some; intros a b a_inside b_inside likelier;
    specialize (ratios a b a_inside b_inside likelier);
    change (Statements.extension.masked_weights.over_policy n logits shift)
      with (fun c => exp (log_softmax n (moved_by logits shift) c - log_softmax n logits c)); cbv beta in *.
  - apply Rle_min_compat_l, Rmult_le_compat_l; [lra|exact ratios].
  - set (x := exp (log_softmax n (moved_by logits shift) a - log_softmax n logits a)) in *.
    set (y := exp (log_softmax n (moved_by logits shift) b - log_softmax n logits b)) in *.
    destruct (less (high * x) 1) eqn:first, (less (high * y) 1) eqn:second; try lra.
    apply less_true in first; apply less_false in second; nra.
Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.extension.masked_weights.witness.
Proof. exists 2%nat, (fun _ => 0), (fun _ => 0), 1; witnessed. Qed.
