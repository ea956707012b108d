import 'reflect-metadata';
import { Controller, HttpCode, Module, Post } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';

/**
 * A Nest application on Express whose only route returns a constant: what the framework alone takes of
 * every request. Argument: port.
 */
const [port = '0'] = process.argv.slice(2);

@Controller()
class ConstantController {
  @Post('verify')
  @HttpCode(200)
  verify(): { readonly isValid: true } {
    return { isValid: true };
  }
}

@Module({ controllers: [ConstantController] })
class ConstantModule {}

const app = await NestFactory.create(ConstantModule);
app.useLogger(false);
await app.listen(Number(port), '127.0.0.1');
console.log('Constant listening');
