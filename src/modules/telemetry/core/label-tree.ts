/** Label values of one series, in the order of the label names. */
export type Labels = readonly string[];

interface Branch<Value> {
  readonly branches: Map<string, Branch<Value>>;
  leaf: { readonly labels: Labels; readonly value: Value } | undefined;
}

const newBranch = <Value>(): Branch<Value> => ({ branches: new Map(), leaf: undefined });

/**
 * A value for each combination of labels. Label by label, since these texts live long and know their hashes: a text
 * joined of them would be made and hashed anew for every request.
 */
export class LabelTree<Value> {
  #root: Branch<Value> = newBranch();
  readonly #leaves: { readonly labels: Labels; readonly value: Value }[] = [];

  /** The value of a combination, made at its first use. */
  get(labels: Labels, make: (labels: Labels) => Value): Value {
    let at = this.#root;
    for (const label of labels) {
      let next = at.branches.get(label);
      if (next === undefined) at.branches.set(label, (next = newBranch()));
      at = next;
    }
    at.leaf ??= this.#grow(labels, make);
    return at.leaf.value;
  }

  /** In the order in which they were made. */
  all(): readonly { readonly labels: Labels; readonly value: Value }[] {
    return this.#leaves;
  }

  clear(): void {
    this.#root = newBranch();
    this.#leaves.length = 0;
  }

  #grow(labels: Labels, make: (labels: Labels) => Value): { readonly labels: Labels; readonly value: Value } {
    const leaf = { labels: [...labels], value: make(labels) };
    this.#leaves.push(leaf);
    return leaf;
  }
}
