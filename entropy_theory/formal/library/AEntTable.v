(** The scores that AEnt prints in Table 1, in thousandths: MATH-Hard, MATH-500, AIME24, Minerva,
    Olympiad, AMC, for the base model, GRPO, EntReg and AEnt in the two settings. *)

From Coq Require Import Reals List.
From PolicyEntropy.library Require Import Definitions.
Import ListNotations.
Open Scope R_scope.

Definition row (scores : list R) : vector := fun benchmark => nth benchmark scores 0.
Record setting := { base : vector; grpo : vector; ent_reg : vector; aent : vector }.
Definition setting_a : setting := {|
  base := row [368; 584; 83; 179; 279; 406];
  grpo := row [524; 756; 192; 311; 364; 550];
  ent_reg := row [546; 752; 167; 316; 370; 562];
  aent := row [552; 750; 217; 330; 377; 581] |}.
Definition setting_b : setting := {|
  base := row [661; 792; 225; 311; 432; 594];
  grpo := row [773; 865; 367; 347; 576; 769];
  ent_reg := row [808; 872; 342; 359; 576; 794];
  aent := row [813; 882; 392; 359; 591; 825] |}.
Definition settings : list setting := [setting_a; setting_b].
Definition baselines (s : setting) : list vector := [base s; grpo s; ent_reg s].
