(** [enclose]: proves inequalities between numbers, such as exp (1/3) < 7/5, by interval arithmetic in the kernel.

    The tactic of the Interval library, computed with integers of the standard library: by default it computes with
    machine integers and machine floats, and proofs would rest on axioms about those. *)

From Coq Require Import Reals List.
From Interval Require Import Float.Specific_stdz Float.Specific_ops Interval.Float_full.
Require Interval.Tactics.Interval_helper.

Module Floats := SpecificFloat StdZRadix2.
Module Intervals := FloatIntervalFull Floats.
Module Enclose := Interval.Tactics.Interval_helper.IntervalTacticAux Intervals.

(** With as many bits as asked for. *)
Ltac enclose_with bits :=
  let precision := eval vm_compute in (Floats.PtoP bits) in
  Enclose.do_interval (@None R) (@nil R) precision constr:(10%nat) constr:(15%nat)
    false false Interval_helper.itm_naive.
Ltac enclose := enclose_with constr:(80%positive).
