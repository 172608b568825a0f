(** Extension of AEPO, Theorem 4.3: with one right action, samples at another temperature with weights truncated at 2
    err towards more entropy if the sampler is sharper, and towards less if it is hotter. *)

From Coq Require Import Reals Lra Lia.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics SamplerMismatch.
From Trusted.Statements.extension Require truncated_signal.
Open Scope R_scope.

Theorem proved : Statements.extension.truncated_signal.repair.
Proof.
  intros n z A T two chosen low high few; assert (0 < n)%nat as some by lia.
  apply (errs_one_way n z A T some ltac:(lra) (Statements.extension.truncated_signal.truncated_weight n z T));
    [|exact chosen|exact few].
  intros a b below; apply Rle_min_compat_l, Rmult_le_compat_l; [lra|exact below].
Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.extension.truncated_signal.witness.
Proof. exists 2%nat, (fun _ => 0), (fun a => Nat.eqb a 0), 1; witnessed. Qed.

Theorem defined : Statements.extension.truncated_signal.defined.
Proof. domains. Qed.
