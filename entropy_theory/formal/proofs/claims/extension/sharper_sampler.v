(** Extension of AEPO, Theorem 4.3: where the reward is a coin, a sampler that is sharper than the policy action by
    action does not raise entropy to first order. *)

From Coq Require Import Reals Lra Lia.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics CoinRewards.
From Trusted.Statements.extension Require sharper_sampler.
Open Scope R_scope.

Theorem proved : Statements.extension.sharper_sampler.repair.
Proof.
  intros n logits shift two agree; assert (0 < n)%nat as some by lia.
  apply ordered_weights_fall; [exact some|apply ratio_in_order; [exact some|]].
  apply in_order_of_smallest; exact agree.
Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.extension.sharper_sampler.witness.
Proof. exists 2%nat, (fun _ => 0), (fun _ => 0); witnessed. Qed.
