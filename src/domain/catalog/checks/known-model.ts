import { invariant } from '../../../kernel/assert.ts'

/**
 * Finds a model of a family by a name that was resolved before; any other is a defect of the
 * gateway.
 */
export function knownModel<Model>(
  find: (name: string) => Model | undefined,
): (name: string) => Model {
  return (name) => {
    const model = find(name)
    invariant(model, `the catalog keeps every model it ever had: ${name}`)
    return model
  }
}
