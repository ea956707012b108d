import type { Database } from '../../history/postgres/database.js';

/** The catalogue is in the database of the history; each module has the connections of its own work. */
export type CatalogueDatabase = Database['db'];
export const CatalogueDatabase = Symbol('CatalogueDatabase');
