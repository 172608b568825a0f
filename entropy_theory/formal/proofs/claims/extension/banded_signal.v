(** Extension of AEPO, Theorem 4.3: weights masked to a band keep the sign of a first order that is above the masked
    probability times E|log pi + H|. *)

From Coq Require Import Reals Lra Lia.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics SamplerMismatch.
From Trusted.Statements.extension Require banded_signal.
Open Scope R_scope.

Theorem proved : Statements.extension.banded_signal.repair.
Proof.
  intros n z A T two chosen low high clear; assert (0 < n)%nat as some by lia.
  apply (sign_of_clear n z A T some (Statements.extension.banded_signal.banded_weight n z T)); [|exact clear].
  intros a; unfold Statements.extension.banded_signal.banded_weight.
  match goal with |- context [if ?kept then _ else _] => destruct kept end; lra.
Qed.

From Coq Require Import List.
Import ListNotations.
From PolicyEntropy.library Require Import Refuting Domains.

Theorem witness : Statements.extension.banded_signal.witness.
Proof. exists 2%nat, (log_weights [1; 2]), (marks [true; false]), 1; holds. Qed.

Theorem defined : Statements.extension.banded_signal.defined.
Proof. domains. Qed.
