import { applyDecorators, type Type as Class } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import { IsObject, ValidateIf, ValidateNested } from 'class-validator';

/** An object of another DTO class; it may be absent. */
export const IsPart = (part: Class, description: string): PropertyDecorator =>
  applyDecorators(
    ApiProperty({ type: () => part, required: false, description }),
    ValidateIf((_dto, value) => value !== undefined),
    IsObject(),
    ValidateNested(),
    Type(() => part),
  );
