/** What a process does; every role may run in any number of processes. */
export type Role = 'api' | 'projector' | 'worker'

/** All roles, in the order in which messages list them. */
export const roles: readonly Role[] = ['api', 'projector', 'worker']
