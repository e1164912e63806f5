import { readVariable } from '../config.ts'
import { passedOn } from './statements.ts'

/** Where the stores are, for a process that the gateway starts. */
export interface ChildStores {
  readonly eventStoreUrl: string
  readonly databaseUrl: string
  readonly namespace: string
}

/** Addresses hold passwords, and every user of the machine can read arguments. */
const variables: Readonly<Record<keyof ChildStores, string>> = {
  eventStoreUrl: 'EVENTSTORE_URL',
  databaseUrl: 'DATABASE_URL',
  namespace: 'EVENTSTORE_NAMESPACE',
}

/** The environment by which the child finds the stores. */
export function environmentOf(stores: ChildStores): Readonly<Record<string, string>> {
  return {
    ...passedOn(),
    [variables.eventStoreUrl]: stores.eventStoreUrl,
    [variables.databaseUrl]: stores.databaseUrl,
    [variables.namespace]: stores.namespace,
  }
}

/** The stores by the environment of this child. @throws where the parent has not said one of them */
export function storesOfParent(): ChildStores {
  const given = (name: keyof ChildStores): string => {
    const value = readVariable(variables[name])
    if (value === undefined) throw new Error(`${variables[name]} is not set`)
    return value
  }
  return {
    eventStoreUrl: given('eventStoreUrl'),
    databaseUrl: given('databaseUrl'),
    namespace: given('namespace'),
  }
}
